"""Sentences become the ids that a model reads: one row per token, its word id and its character ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.errors import ConfigError, InputError
from polyseme.text.characters import Characters, composed
from polyseme.text.vocabulary import UNKNOWN

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WordTable:
    """Word ids of a model that looks words up. ``ids`` are rows of its table, counted from 0."""

    ids: Mapping[str, int]
    unknown: str | None  #: what a word that is not there counts as; None: it cannot be read
    begin: str
    end: str
    longest: int | None = None  #: code points of a token that are looked up; ELMoForManyLangs cuts the rest off

    def __post_init__(self) -> None:
        for name in (self.unknown, self.begin, self.end):
            if name is not None and name not in self.ids:
                raise ConfigError(f"the vocabulary has no entry {name!r}, which a model of word ids needs")

    def id(self, token: str) -> int:
        """Row of the token plus one: 0 is padding."""
        found = self.ids.get(token if self.longest is None else token[: self.longest])
        if found is None and self.unknown is None:
            raise InputError(
                f"the token {token!r} is not in the model's vocabulary, which has no {UNKNOWN} either; "
                "leave it out, or use the model that reads characters"
            )
        return (self.ids[self.unknown or ""] if found is None else found) + 1


@dataclass(frozen=True, slots=True)
class Indexer:
    """What a model reads of a token, composed: a word id, character ids, or the word id before the character ids."""

    characters: Characters | None = None
    words: WordTable | None = None
    fold_width: bool = False  #: full-width and half-width forms are read as the usual ones

    def __post_init__(self) -> None:
        if self.characters is None and self.words is None:
            raise ConfigError("an indexer needs characters, words or both")

    @property
    def row_size(self) -> int:
        """K: ids in a row."""
        return (1 if self.words else 0) + (self.characters.max_characters if self.characters else 0)

    def row(self, token: str) -> list[int]:
        """The K ids of one token."""
        if not isinstance(token, str):
            raise InputError(f"a token should be a string, but {token!r} is of type {type(token).__name__}")
        spelled = composed(token, fold_width=self.fold_width)
        ids = [self.words.id(token if token in self.words.ids else spelled)] if self.words else []
        return ids + self.characters.row(spelled) if self.characters else ids

    def begin_row(self) -> list[int]:
        """The K ids of the sentence's begin."""
        ids = [self.words.id(self.words.begin)] if self.words else []
        return ids + self.characters.begin_row() if self.characters else ids

    def end_row(self) -> list[int]:
        """The K ids of the sentence's end."""
        ids = [self.words.id(self.words.end)] if self.words else []
        return ids + self.characters.end_row() if self.characters else ids

    def rows(self, tokens: Sequence[str]) -> Ids:
        """[N, K] ids of tokens, without boundaries."""
        return np.array([self.row(t) for t in tokens], dtype=np.int64).reshape(len(tokens), self.row_size)

    def batch(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """[B, T, K] ids of sentences with boundaries, zero rows as padding on the right."""
        longest = max((len(s) for s in sentences), default=0)
        ids = np.zeros((len(sentences), longest + 2, self.row_size), dtype=np.int64)
        begin, end = self.begin_row(), self.end_row()
        for b, sentence in enumerate(sentences):
            n = len(sentence)
            ids[b, 0] = begin
            ids[b, 1 : n + 1] = self.rows(sentence)
            ids[b, n + 1] = end
        return ids
