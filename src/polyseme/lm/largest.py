"""The largest numbers of long rows, faster than a partition of each row.

A row is read in columns of 32 numbers. The k-th largest of the columns' maxima is at most the k-th largest number, so
only what reaches it, a few hundred numbers, has to be looked at again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]

DEPTH = 32


def largest_in_rows(rows: Floats, k: int) -> tuple[Ids, Floats]:
    """[n, V] → where the ``k`` largest numbers of each row are and what they are, the largest first. [n, k] each

    Where a row is shorter than ``k``, all of it. Of equal numbers the earlier comes first.
    """
    k = min(k, rows.shape[1])
    places, values = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    for number, least in enumerate(_lower_bounds(rows, k)):
        there = np.flatnonzero(rows[number] >= least)
        found = rows[number, there]
        order = np.argsort(-found, kind="stable")[:k]
        places[number], values[number] = there[order], found[order]
    return places, values


def _lower_bounds(rows: Floats, k: int) -> Floats:
    """For each row a number that its k-th largest is not below. [n]"""
    width = rows.shape[1] // DEPTH
    if width < k:
        return np.full(len(rows), -np.inf, np.float32)
    maxima = rows[:, : width * DEPTH].reshape(len(rows), DEPTH, width).max(axis=1)
    bounds: Floats = np.partition(maxima, width - k, axis=1)[:, width - k]
    return bounds
