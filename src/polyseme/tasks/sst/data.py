"""Sentences with a label: trees of the Stanford Sentiment Treebank, one per line, or ``label<TAB>words``.

(3 (2 It) (4 (2 's) (4 lovely)))         3    It 's lovely      and its phrases: 2 It, 4 's lovely, 2 's, 4 lovely
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.spans import Span
from polyseme.tasks.treebank import PENN_SIGNS

_PIECE = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True, slots=True)
class SstSentence:
    """Words, a label (None if it is to be predicted), and the labelled phrases within."""

    tokens: tuple[str, ...]
    label: str | None = None
    phrases: tuple[Span, ...] = ()


def read_sentiment(path: Path, reading: FileReading | None = None) -> list[SstSentence]:
    """All sentences of a file; every line is a tree, or a label, a tab and words."""
    source, found = str(path), []
    for number, line in (reading or FileReading()).lines(path):
        if line.strip():
            try:
                found.append(parse_tree(line) if line.lstrip().startswith("(") else _parse_row(line))
            except ValueError as error:
                raise InputError(f"{source}, line {number}: {error}; expected a tree, or label, tab, words") from None
    return found


def parse_tree(line: str) -> SstSentence:
    """Read a tree; ValueError if the line is not one complete tree."""
    tokens: list[str] = []
    phrases: list[Span] = []
    stack: list[list[str | int]] = []  # label and first token of every open bracket
    pieces = _PIECE.findall(line)
    for place, piece in enumerate(pieces):
        if piece == "(":
            if place and not stack:
                raise ValueError("something follows the end of the tree")
            stack.append(["", len(tokens)])
        elif not stack:
            raise ValueError("a bracket is closed that was never opened")
        elif piece == ")":
            label, start = stack.pop()
            if label == "" or start == len(tokens):
                raise ValueError("a bracket has no label or no word")
            phrases.append(Span(str(label), int(start), len(tokens)))
        elif pieces[place - 1] == "(":
            stack[-1][0] = piece
        else:
            tokens.append(as_written(piece))
    if stack or not phrases:
        raise ValueError("a bracket is not closed")
    whole = phrases.pop()
    return SstSentence(tuple(tokens), whole.label, tuple(phrases))


def as_written(token: str) -> str:
    """-LRB- → (, \\/ → /"""
    return PENN_SIGNS.get(token, token.replace("\\/", "/").replace("\\*", "*"))


def _parse_row(line: str) -> SstSentence:
    label, tab, words = line.partition("\t")
    if not tab or not label.strip() or not words.split():
        raise ValueError(f"{line[:40]!r} is neither")
    if len(label.split()) > 1:
        raise ValueError(f"the label {label.strip()[:40]!r} is more than one word")
    return SstSentence(tuple(words.split()), label.strip())
