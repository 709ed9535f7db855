"""Exact nearest neighbours among many vectors: every vector is compared, block by block, in constant memory.

A million vectors of 256 numbers are half a gigabyte of float16, read once per query; building an approximate index
would take longer than the queries.

The context of each token comes from the vectors that an index already holds. A token's place is the forward state of
the token before it and the backward state of the token after it (`Encoding.place`), and both are halves of those
tokens' vectors in the top layer. So an index of the top layer needs no extra room for places. At the ends of a
sentence, the states are those of its boundaries, which all sentences share.

    row          n − 1            n            n + 1
    top layer    [ fwd | bwd ]    [ fwd | bwd ]    [ fwd | bwd ]
    place of n     ───                                  ───             added: both feed one softmax
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats, unit

AnyFloats = npt.NDArray[np.floating[Any]]
Rows = npt.NDArray[np.int64]

#: Bytes of float32 compared at once.
BLOCK_BYTES = 32 << 20


class Vectors(Protocol):
    """Rows of length one: an array, or an object that computes them on demand."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice | Rows, /) -> AnyFloats: ...


def nearest(units: Vectors, query: AnyFloats, k: int, rows: Rows | None = None) -> tuple[Rows, npt.NDArray[np.float32]]:
    """The ``k`` rows of ``units`` [R, W] with the largest cosine to ``query`` [W], and the cosines, largest first.

    ``units`` have length one (or zero), in float16 or float32; ``rows`` restricts the search to some of them. Of equal
    cosines, the earlier row comes first.
    """
    best_rows, best = np.empty(0, np.int64), np.empty(0, np.float32)
    wanted = unit(np.asarray(query, np.float32))  # [W]
    for block_rows, block in _blocks(units, rows):
        cosines = block.astype(np.float32, copy=False) @ wanted
        best_rows, best = _largest(np.concatenate([best_rows, block_rows]), np.concatenate([best, cosines]), k)
    return best_rows, np.clip(best, -1.0, 1.0)


def _blocks(units: Vectors, rows: Rows | None) -> Iterator[tuple[Rows, AnyFloats]]:
    size = max(1, BLOCK_BYTES // (4 * units.shape[1]))
    for start in range(0, len(units) if rows is None else len(rows), size):
        if rows is None:
            block = np.array(units[start : start + size])  # read from disk here, once
            yield np.arange(start, start + len(block)), block
        else:
            yield rows[start : start + size], np.asarray(units[rows[start : start + size]])


def _largest(rows: Rows, cosines: npt.NDArray[np.float32], k: int) -> tuple[Rows, npt.NDArray[np.float32]]:
    if len(cosines) > k:
        least = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
        kept = np.flatnonzero(cosines >= least)  # including all ties for the last place
        rows, cosines = rows[kept], cosines[kept]
    order = np.lexsort((rows, -cosines))[:k]
    return rows[order], cosines[order]


@dataclass(frozen=True, eq=False)
class StoredPlaces:
    """The direction of every token's place, computed on demand: ``places[rows]`` → [n, D]."""

    units: npt.NDArray[np.float16]  # [tokens, W] of the top layer
    norms: npt.NDArray[np.float32]  # [tokens]
    starts: npt.NDArray[np.uint64]  # [sentences + 1] the first token of each sentence
    edges: Floats  # [W]: the forward state at the beginning of a sentence, the backward state at its end
    directions: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.units), self.units.shape[1] // self.directions

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, rows: slice | npt.NDArray[np.integer[Any]]) -> Floats:
        """Each of length one. float32 [n, D]"""
        numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        size = self.shape[1]
        sentence = np.searchsorted(self.starts, numbers.astype(np.uint64), side="right") - 1
        first = self.starts[sentence].astype(np.int64) == numbers
        last = self.starts[sentence + 1].astype(np.int64) == numbers + 1
        places = np.where(first[:, None], self.edges[:size], self._states(numbers - 1, slice(size)))
        if self.directions == 2:
            places += np.where(last[:, None], self.edges[size:], self._states(numbers + 1, slice(size, None)))
        return unit(places)

    def _states(self, rows: npt.NDArray[np.int64], half: slice) -> Floats:
        """One direction of the tokens; arbitrary values for rows out of range. [n, D]"""
        inside = np.clip(rows, 0, len(self) - 1)
        return np.asarray(self.units[inside, half], np.float32) * np.asarray(self.norms[inside])[:, None]
