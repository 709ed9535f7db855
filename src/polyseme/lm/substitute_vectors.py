"""Places as sparse vectors over words: for each place the likeliest words in it, and how much each weighs.

A word weighs the root of its probability, so that the cosine of two places is the Bhattacharyya coefficient of what
could stand there: 1 where the same words could, with the same chances, and 0 where no word could stand in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SubstituteVectors:
    """n places, K words each."""

    SIZE: ClassVar[int] = 300  #: words that are kept of a place; with more, senses are told apart no better

    ids: Ids  # [n, K] numbers of words in the vocabulary, the likeliest first
    weights: Floats  # [n, K], each row of length one
    words: int  #: of the vocabulary

    @classmethod
    def of_logits(cls, ids: Ids, logits: Floats, words: int) -> SubstituteVectors:
        """Of the likeliest words' ln p, up to a constant for each place. [n, K] each"""
        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / 2)
        return cls(ids, weights / np.linalg.norm(weights, axis=1, keepdims=True), words)

    @classmethod
    def join(cls, parts: Sequence[SubstituteVectors], words: int) -> SubstituteVectors:
        """The places of all parts, in order."""
        if not parts:
            return cls(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32), words)
        return cls(np.concatenate([one.ids for one in parts]), np.concatenate([one.weights for one in parts]), words)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: slice | npt.NDArray[np.int64] | list[int]) -> SubstituteVectors:
        return SubstituteVectors(self.ids[rows], self.weights[rows], self.words)

    def cosines(self, other: SubstituteVectors) -> Floats:
        """Of every place here with every place of the other. [n, m]"""
        cosines = np.empty((len(self), len(other)), np.float32)
        row = np.zeros(self.words, np.float32)
        for number, (ids, weights) in enumerate(zip(self.ids, self.weights, strict=True)):
            row[ids] = weights
            cosines[number] = np.einsum("mk,mk->m", row[other.ids], other.weights)
            row[ids] = 0
        return cosines
