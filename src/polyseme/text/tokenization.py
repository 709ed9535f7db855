"""Text → sentences → tokens, with the offsets of every token in the text.

    split_text("Mr. Bush didn't go. He rang.")
    # [Sentence(tokens=['Mr.', 'Bush', 'did', "n't", 'go', '.'], offsets=[(0, 3), (4, 8), …]), Sentence(…)]
    part_words(["배를", "탔다", "."], "ko")    # words split elsewhere; units 배 를 탔 다 .   of words 0 0 1 1 2

A token is exactly ``text[start:end]`` and contains no whitespace; every other character is in one token. The words are
those of the Universal Dependencies treebanks, with Korean ones split into morphemes; docs/tokenization.md says how
closely.

Your own tokeniser is any function that takes a text and returns its sentences: ``lang=split``, or the name under which
an installed package adds it, ``lang="thai-words"``. Its output is checked. As names of languages, "zh-CN", "ZH" and
"zh_Hans" mean "zh"; "klingon" is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from polyseme.errors import ConfigError
from polyseme.plugins import Group, added, broken, load_added
from polyseme.text import any_language, chinese, english, korean
from polyseme.text.characters import compose, is_composed
from polyseme.text.linear_tagger import cut
from polyseme.text.sentences import split_sentences

Span = tuple[int, int]

#: Names that packages cannot use.
BUILT_IN = frozenset({"any", "en", "ko", "ko-eojeol", "protein", "whitespace", "zh"})

#: What the tokens of a language are, if they are smaller than treebank words; a model's card records it.
UNITS = {"ko": "morpheme"}
#: The languages to use for treebank words instead.
_WORDS = {"ko": "ko-eojeol"}

_LINE = re.compile(r"[^\r\n]+")
_CHUNK = re.compile(r"\S+")
_RESIDUE = re.compile(r"\S")

Tokenizer = Callable[[str], Iterable["Sentence"]]
Language = str | Tokenizer  #: how text is split: a name such as "en", or a function

TOKENIZERS: Group = "polyseme.tokenizers"

#: ISO 639-1, and three-letter codes of released models' languages.
_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj
kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv
ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
ast chu cop fro got grc hsb kmr lzh mul und
"""
CODES = frozenset(_CODES.split())


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of one sentence and their offsets in the text: ``text[a:b]`` is the token."""

    tokens: list[str]
    offsets: list[Span]


def language_code(lang: str) -> str:
    """The language of text that is split this way: "ko" for "ko-eojeol"."""
    return lang.removesuffix("-eojeol")


def word_language(lang: str) -> str:
    """The ``lang`` that splits text into the words of treebanks and tasks, if ``lang`` gives smaller units."""
    return _WORDS.get(lang, lang)


def split_text(text: str, lang: Language = "en") -> list[Sentence]:
    """Split a text into sentences and tokens; a line end always ends a sentence.

    ``lang`` is "en", "ko" (morphemes), "ko-eojeol" (the text between spaces) or "zh"; other languages get rules for all
    scripts; "whitespace" is for text that is already split: one sentence per line, tokens separated by spaces;
    "protein" is for sequences: one per line, each residue a token.
    ``lang`` may also be your own function, or the name of one that a package adds: see ``Tokenizer``.
    """
    if not isinstance(lang, str):
        return split_with(lang, text)
    if lang not in BUILT_IN and (tokenizer := added_tokenizer(lang)) is not None:
        return split_with(tokenizer, text)
    if not is_composed(text):
        return _split_composed(text, lang)
    split_line = _line_splitter(text, lang)
    groups = (spans for line in _LINE.finditer(text) for spans in split_line(*line.span()))
    return [Sentence([text[a:b] for a, b in spans], spans) for spans in groups]


def _split_composed(text: str, lang: str) -> list[Sentence]:
    """The words of the composed text, with their offsets in the original text."""
    whole, starts = compose(text)
    spans = [[(starts[a], starts[b]) for a, b in sentence.offsets] for sentence in split_text(whole, lang)]
    kept = [[(a, b) for a, b in sentence if a < b] for sentence in spans]
    return [Sentence([text[a:b] for a, b in sentence], sentence) for sentence in kept if sentence]


def _line_splitter(text: str, lang: str) -> Callable[[int, int], list[list[Span]]]:
    """A function that splits one line of the text, given by its start and end, into sentences of words."""
    if lang == "en":
        return lambda start, end: split_sentences(text, english.find_words(text, start, end))
    if lang == "ko-eojeol":
        return lambda start, end: korean.find_sentences(text, start, end)
    if lang == "ko":
        morpheme_ends = korean.find_morpheme_ends(text)
        return lambda start, end: [
            [morpheme for span in spans for morpheme in cut(span, morpheme_ends)]
            for spans in korean.find_sentences(text, start, end)
        ]
    if lang == "zh":
        word_ends = chinese.find_word_ends(text)
        return lambda start, end: split_sentences(text, chinese.find_words(text, start, end, word_ends))
    if lang == "protein":
        return lambda start, end: [spans] if (spans := [m.span() for m in _RESIDUE.finditer(text, start, end)]) else []
    if lang == "whitespace":
        return lambda start, end: [spans] if (spans := [m.span() for m in _CHUNK.finditer(text, start, end)]) else []
    return lambda start, end: split_sentences(text, any_language.find_words(text, start, end))


def added_tokenizer(name: str) -> Tokenizer | None:
    """The tokeniser that a package adds under this name, or None."""
    if ":" in name:
        raise ConfigError(
            f"text was split by the function {name} here, and a function cannot be found by its name; pass it as lang, "
            "or pass text that is already split"
        )
    if name not in added(TOKENIZERS):
        return None
    tokenizer: Tokenizer = load_added(TOKENIZERS, name)
    if not callable(tokenizer):
        raise broken(TOKENIZERS, name, f"it is of type {type(tokenizer).__name__}, not a function")
    return tokenizer


def language_name(lang: Language) -> str:
    """What a corpus, an index or a run records: "en", or "module:function" for a function."""
    if isinstance(lang, str):
        return lang
    if not callable(lang):
        raise ConfigError(f"lang is {lang!r:.60}, but should be the name of a language or a function that splits text")
    named = lang if hasattr(lang, "__qualname__") else type(lang)
    return f"{named.__module__}:{named.__qualname__}"


def split_with(tokenizer: Tokenizer, text: str) -> list[Sentence]:
    """The sentences that a tokeniser finds, without empty ones; ConfigError if it breaks a rule."""
    sentences = [sentence for sentence in tokenizer(text) if _length(tokenizer, sentence)]
    before = 0
    for sentence in sentences:
        for token, (start, end) in zip(sentence.tokens, sentence.offsets, strict=True):
            if not before <= start < end or text[start:end] != token or "\n" in token or "\r" in token:
                raise _refusal(
                    tokenizer,
                    f"the token {token!r:.40} for characters {start} to {end}, where the text has "
                    f"{text[start:end]!r:.40}; each token should equal that text, follow the previous token and "
                    "contain no line break",
                )
            before = end
    return sentences


def _length(tokenizer: Tokenizer, sentence: Sentence) -> int:
    try:
        tokens, offsets = len(sentence.tokens), len(sentence.offsets)
    except (AttributeError, TypeError):
        raise _refusal(
            tokenizer, f"{sentence!r:.60} for a sentence; it should have tokens and offsets, as polyseme.text.Sentence"
        ) from None
    if tokens != offsets:
        raise _refusal(tokenizer, f"a sentence with {tokens} tokens and {offsets} offsets; each token should have one")
    return tokens


def _refusal(tokenizer: Tokenizer, fact: str) -> ConfigError:
    return ConfigError(f"the tokenizer {language_name(tokenizer)} gave {fact}")


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
        "or the code of another language, such as de or pt-BR, which uses the rules of 'any'"
    )


class Units(list[str]):
    """The tokens of a sentence from the model's own tokeniser, which are not split again."""


@dataclass(frozen=True, slots=True)
class PartedWords:
    """The units of a sentence, their offsets in the words joined by spaces, and the number of units in each word."""

    units: Units
    offsets: list[Span]
    counts: list[int]  # units of each word, at least 1


def units_of(words: Sequence[str], lang: Language) -> list[str]:
    """These words as text of ``lang`` has them: their units, or the words themselves."""
    return part_words(words, lang).units if isinstance(lang, str) and lang in UNITS else list(words)


def part_words(words: Sequence[str], lang: str) -> PartedWords:
    """Units of ``lang`` in every word; a word in which the tokeniser finds nothing is itself a unit."""
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    inside: list[list[Span]] = [[] for _ in words]
    for sentence in split_text(text := " ".join(words), lang):
        for span in sentence.offsets:
            inside[bisect_right(starts, span[0]) - 1].append(span)
    whole = ((start, start + len(word)) for start, word in zip(starts, words, strict=False))
    spans = [found or [span] for found, span in zip(inside, whole, strict=True)]
    offsets = [span for found in spans for span in found]
    return PartedWords(Units(text[a:b] for a, b in offsets), offsets, [len(found) for found in spans])
