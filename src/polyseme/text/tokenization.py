"""Text → sentences → tokens, with the place of every token in the text.

    split_text("Mr. Bush didn't go. He rang.")
    # [Sentence(tokens=['Mr.', 'Bush', 'did', "n't", 'go', '.'], offsets=[(0, 3), (4, 8), …]), Sentence(…)]

A token is exactly ``text[start:end]`` and holds no whitespace; every other character is in one token. The words are
those of the Universal Dependencies treebanks; docs/tokenization.md says how closely.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from polyseme.text import any_language, english, korean
from polyseme.text.sentences import split_sentences

Span = tuple[int, int]

_LINE = re.compile(r"[^\r\n]+")
_CHUNK = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of one sentence and where each stands in the text: ``text[a:b]`` is the token."""

    tokens: list[str]
    offsets: list[Span]


def split_text(text: str, lang: str = "en") -> list[Sentence]:
    """Split a text into sentences and tokens; a line end always ends a sentence.

    ``lang`` is "en", "ko" or "zh"; any other language gets rules for all scripts; "whitespace" is for text that is
    split already: one sentence a line, a space between tokens.
    """
    split_line = _SPLIT_LINE.get(lang, _split_any)
    groups = (spans for line in _LINE.finditer(text) for spans in split_line(text, *line.span()))
    return [Sentence([text[a:b] for a, b in spans], spans) for spans in groups]


def _split_english(text: str, start: int, end: int) -> list[list[Span]]:
    return split_sentences(text, english.find_words(text, start, end))


def _split_korean(text: str, start: int, end: int) -> list[list[Span]]:
    return split_sentences(text, korean.find_words(text, start, end), korean.POLITE)


def _split_any(text: str, start: int, end: int) -> list[list[Span]]:
    return split_sentences(text, any_language.find_words(text, start, end))


def _split_whitespace(text: str, start: int, end: int) -> list[list[Span]]:
    spans = [chunk.span() for chunk in _CHUNK.finditer(text, start, end)]
    return [spans] if spans else []


_SPLIT_LINE: dict[str, Callable[[str, int, int], list[list[Span]]]] = {
    "en": _split_english,
    "ko": _split_korean,
    "whitespace": _split_whitespace,
}
