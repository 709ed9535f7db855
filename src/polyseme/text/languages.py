"""The names that ``lang`` may have: "zh-CN", "ZH" and "zh_Hans" are "zh"; "klingon" is none.

Languages with rules of their own come first; all others get the rules for every script.
"""

from __future__ import annotations

from polyseme.errors import ConfigError
from polyseme.plugins import added
from polyseme.text.own_tokenizer import TOKENIZERS, Language
from polyseme.text.tokenization import BUILT_IN

#: ISO 639-1, and the languages of released models that have three letters there.
_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj
kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv
ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
ast chu cop fro got grc hsb kmr lzh mul und
"""
CODES = frozenset(_CODES.split())


def known_language(lang: Language) -> Language:
    """The name under which polyseme knows a language, or the tokeniser itself; ConfigError for any other name."""
    if not isinstance(lang, str) or ":" in lang or lang in BUILT_IN or lang in added(TOKENIZERS):
        return lang
    name = lang.strip().lower().replace("_", "-")
    first = name.split("-")[0]
    if name in BUILT_IN:
        return name
    if first in CODES:
        return first
    raise ConfigError(
        f"lang is {lang!r:.60}, but should be one of {', '.join(sorted(BUILT_IN | set(added(TOKENIZERS))))}, "
        "or the code of another language, such as de or pt-BR, which gets the rules of 'any'"
    )
