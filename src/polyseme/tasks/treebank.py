"""Sentences with parts of speech from a CoNLL-U treebank, and a baseline that tags words without their context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polyseme.errors import ConfigError, InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.tagged import read_blocks

#: Universal tags, or language-specific ones.
TagColumn = Literal["upos", "xpos"]
_COLUMNS: dict[str, int] = {"upos": 3, "xpos": 4}
_WORD_ID = re.compile(r"[0-9]+")
_OTHER_ID = re.compile(r"[0-9]+[-.][0-9]+")  # a multi-word token ("2-3") or an empty node ("2.1")

LONGEST_SUFFIX = 4  # characters

#: How the Penn Treebank and its successors write brackets and quotes; a biLM reads text as people write it.
PENN_SIGNS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Words and their tags."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]


def read_treebank(path: str | Path, column: TagColumn, reading: FileReading | None = None) -> list[TaggedSentence]:
    """The sentences of a .conllu file, also compressed; only lines whose id is a whole number are words."""
    if column not in _COLUMNS:
        raise ConfigError(f"the column is {column!r}, but should be one of: {', '.join(_COLUMNS)}")
    sentences, place = [], _COLUMNS[column]
    for block in read_blocks(path, lambda line: line.startswith("#"), reading):
        words = list[tuple[str, str]]()
        for number, line in enumerate(block.lines):
            columns = line.split("\t")
            if len(columns) == 10 and _WORD_ID.fullmatch(columns[0]):
                words.append((columns[1], columns[place]))
            elif len(columns) != 10 or not _OTHER_ID.fullmatch(columns[0]):
                where = block.place(str(path), number)
                raise InputError(
                    f"{where} is not CoNLL-U (ten tab-separated columns, beginning with a number): {line[:40]!r}"
                )
        if words:
            tokens, tags = zip(*words, strict=True)
            sentences.append(TaggedSentence(tokens, tags))
    if not sentences:
        raise InputError(f"{path} holds no sentence; expected a CoNLL-U treebank")
    return sentences


class MostFrequentTag:
    """A tagger that gives each word its most frequent tag in training, whatever its context.

    An unseen word is looked up in lower case. If that was not seen either, it gets the tag of rare words (seen once) of
    the same shape with the same ending, by the longest suffix that any of them shares.
    """

    def __init__(self, sentences: Iterable[TaggedSentence]) -> None:
        tags = defaultdict[str, Counter[str]](Counter)
        for sentence in sentences:
            for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
                tags[token][tag] += 1
        self.words = {word: _most_frequent(counts) for word, counts in tags.items()}
        rare = {word: counts for word, counts in tags.items() if counts.total() == 1} or tags
        endings = defaultdict[tuple[str, str], Counter[str]](Counter)
        for word, counts in rare.items():
            for ending in _endings(word):
                endings[ending] += counts
                endings["", ending[1]] += counts  # for any shape
        self.endings = {ending: _most_frequent(counts) for ending, counts in endings.items()}

    def tag(self, word: str) -> str:
        known = self.words.get(word) or self.words.get(word.lower())
        if known is not None:
            return known
        for ending in (*_endings(word), ("", "")):
            if ending in self.endings:
                return self.endings[ending]
        raise AssertionError("the empty ending fits every word")

    def accuracy(self, sentences: Sequence[TaggedSentence]) -> float:
        """The share of words that get the right tag."""
        pairs = [pair for s in sentences for pair in zip(s.tokens, s.tags, strict=True)]
        return sum(self.tag(token) == tag for token, tag in pairs) / max(1, len(pairs))


def _most_frequent(counts: Counter[str]) -> str:
    """The most frequent tag; ties go to the first in the alphabet, so that the order of sentences does not matter."""
    return min(counts, key=lambda tag: (-counts[tag], tag))


def _endings(word: str) -> list[tuple[str, str]]:
    """(shape, suffix), the longest suffix first."""
    longest = min(LONGEST_SUFFIX, len(word))
    return [(_shape(word), word[len(word) - size :].lower()) for size in range(longest, -1, -1)]


def _shape(word: str) -> str:
    if any(character.isdigit() for character in word):
        return "number"
    if not any(character.isalpha() for character in word):
        return "sign"
    if word.isupper() and len(word) > 1:
        return "capitals"
    return "capital" if word[:1].isupper() else "small"
