"""The nearest of many vectors, exactly: every vector is compared, block by block, so that memory stays flat.

A million vectors of 256 numbers are half a gigabyte of float16, read once a query; an approximate index would be built
longer than it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polyseme.encoding import unit

Floats = npt.NDArray[np.floating[Any]]
Rows = npt.NDArray[np.int64]

#: Bytes of float32 that are compared at once.
BLOCK_BYTES = 32 << 20


class Vectors(Protocol):
    """Rows of length one: an array, or what computes those that are asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice | Rows, /) -> Floats: ...


def nearest(units: Vectors, query: Floats, k: int, rows: Rows | None = None) -> tuple[Rows, npt.NDArray[np.float32]]:
    """The ``k`` rows of ``units`` [R, W] with the largest cosine to ``query`` [W], and the cosines, largest first.

    ``units`` have length one (or zero), in float16 or float32; ``rows`` restricts the search to some of them. Of equal
    cosines the earlier row comes first.
    """
    best_rows, best = np.empty(0, np.int64), np.empty(0, np.float32)
    wanted = unit(np.asarray(query, np.float32))  # [W]
    for block_rows, block in _blocks(units, rows):
        cosines = block.astype(np.float32, copy=False) @ wanted
        best_rows, best = _largest(np.concatenate([best_rows, block_rows]), np.concatenate([best, cosines]), k)
    return best_rows, np.clip(best, -1.0, 1.0)


def _blocks(units: Vectors, rows: Rows | None) -> Iterator[tuple[Rows, Floats]]:
    size = max(1, BLOCK_BYTES // (4 * units.shape[1]))
    for start in range(0, len(units) if rows is None else len(rows), size):
        if rows is None:
            block = np.array(units[start : start + size])  # read from the disk here, once
            yield np.arange(start, start + len(block)), block
        else:
            yield rows[start : start + size], np.asarray(units[rows[start : start + size]])


def _largest(rows: Rows, cosines: npt.NDArray[np.float32], k: int) -> tuple[Rows, npt.NDArray[np.float32]]:
    if len(cosines) > k:
        least = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
        kept = np.flatnonzero(cosines >= least)  # with all that tie for the last place
        rows, cosines = rows[kept], cosines[kept]
    order = np.lexsort((rows, -cosines))[:k]
    return rows[order], cosines[order]
