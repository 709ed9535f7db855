"""Frozen vectors of sentences, layer by layer: one interface to a biLM and to a static table.

Evaluations (a linear probe, word senses) accept either, and so compare them under the same conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.jobs.progress import working
from polyseme.tasks.vectors.static import StaticVectors, load_static

Tokens = Sequence[str]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]


class FrozenVectors(Protocol):
    """Gives every token of a sentence its vectors."""

    @property
    def layers(self) -> int: ...

    @property
    def width(self) -> int: ...

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        """The vectors [layers, N, width] of each sentence in turn, in constant memory."""
        ...


@dataclass(frozen=True)
class BiLMVectors:
    """Every layer of a biLM."""

    elmo: Elmo

    @property
    def layers(self) -> int:
        return self.elmo.config.layers + 1

    @property
    def width(self) -> int:
        return self.elmo.config.width

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        return (encoding.layers for encoding in self.elmo.stream(sentences))


@dataclass(frozen=True)
class TableVectors:
    """One layer: the static vector of each word; zeros for a word without one."""

    table: StaticVectors

    @classmethod
    def load(cls, source: str, sentences: Iterable[Tokens]) -> TableVectors:
        """From a file or package (`polyseme.tasks.vectors.static`), for the words of these sentences."""
        return cls(load_static(source, {token for tokens in sentences for token in tokens}))

    @property
    def layers(self) -> int:
        return 1

    @property
    def width(self) -> int:
        return self.table.width

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        return (self.table.table[self.table.ids(tokens)][None] for tokens in sentences)


def gather(vectors: FrozenVectors, sentences: Sequence[Tokens], title: str = "reading") -> Halves:
    """The vectors of all tokens of the sentences, concatenated. float16 [layers, tokens, width]"""
    total = sum(map(len, sentences))
    gathered = np.empty((vectors.layers, total, vectors.width), np.float16)
    start = 0
    with working(title, total) as work:
        for sentence in vectors.stream(sentences):
            gathered[:, start : start + sentence.shape[1]] = sentence
            start += sentence.shape[1]
            work.advance(sentence.shape[1], tokens=sentence.shape[1])
    return gathered
