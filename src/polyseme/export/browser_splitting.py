"""How a text is split, told to a web page: the same expressions and tables, for serve/static_page/splitting.js."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from polyseme.export.javascript_regex import javascript_regex
from polyseme.text import any_language, chinese, english, korean, sentences
from polyseme.text.tokenization import BUILT_IN, added_tokenizer

_WORDS = {
    "en": english.TOKEN,
    "ko": korean.TOKEN,
    "ko-eojeol": korean.TOKEN,
    "zh": chinese.TOKEN,
    "protein": re.compile(r"\S"),
    "whitespace": re.compile(r"\S+"),
}
#: Languages whose words, or parts of them, are told by weights.
_TAGGERS = {"ko": korean, "zh": chinese}


def describe_splitting(lang: str) -> dict[str, Any] | None:
    """None for a language that a package adds."""
    if lang not in BUILT_IN and added_tokenizer(lang) is not None:
        return None
    return {
        "words": javascript_regex(_WORDS.get(lang, any_language.TOKEN)),
        "halves": english.CONTRACTED if lang == "en" else {},
        "sentences": None if lang in ("protein", "whitespace") else _sentence_ends(lang),
        "tagger": _tagger(lang),
    }


def tagger_tables(lang: str) -> dict[str, Any]:
    """Arrays by name; none for a language without a tagger."""
    if lang == "zh":
        with np.load(chinese.TABLES) as arrays:
            return {f"tagger.{name}": arrays[name] for name in ("lexicon", "weights", "simplified")}
    if lang == "ko":
        tables = korean.load_tables()
        return {"tagger.lexicon": tables.lexicon, "tagger.weights": tables.weights}
    return {}


def _sentence_ends(lang: str) -> dict[str, Any]:
    return {
        "spaced": "".join(sorted(sentences.SPACED)),
        "unspaced": "".join(sorted(sentences.UNSPACED)),
        "closing": "".join(sorted(sentences.CLOSING)),
        "emoticon": javascript_regex(sentences.EMOTICON),
        "polite": javascript_regex(korean.POLITE) if lang.startswith("ko") else None,
    }


def _tagger(lang: str) -> dict[str, Any] | None:
    if lang not in _TAGGERS:
        return None
    classes = [(ord(first), ord(last), code) for first, last, code in _TAGGERS[lang].CLASSES]
    return {"kind": lang, "classes": classes}
