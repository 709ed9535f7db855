"""Places as sparse vectors over words: for each place, the likeliest words and their weights.

The weight of a word is the square root of its probability, so the cosine of two places is the Bhattacharyya coefficient
of their distributions over words: 1 if these are equal, and 0 if no word fits both.
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

    SIZE: ClassVar[int] = 300  #: words kept for a place; more do not separate senses better

    ids: Ids  # [n, K] word ids in the vocabulary, likeliest first
    weights: Floats  # [n, K], each row of length one
    words: int  #: size of the vocabulary

    @classmethod
    def of_logits(cls, ids: Ids, logits: Floats, words: int) -> SubstituteVectors:
        """From the ln p of the likeliest words, up to a constant for each place. [n, K] each"""
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
        """The cosine of every place here with every place of the other. [n, m]"""
        cosines = np.empty((len(self), len(other)), np.float32)
        row = np.zeros(self.words, np.float32)
        for number, (ids, weights) in enumerate(zip(self.ids, self.weights, strict=True)):
            row[ids] = weights
            cosines[number] = np.einsum("mk,mk->m", row[other.ids], other.weights)
            row[ids] = 0
        return cosines
