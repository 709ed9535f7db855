"""Rows of weights in 8 bits: whole numbers from -127 to 127, and a scale for each row.

    row ≈ scale · numbers,   scale = max |row| / 127

A scale keeps 16 bits of its fraction. Then its products with the numbers are exact in float32, and rows that were
rounded once are rounded to themselves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError, WrongShape
from polyseme.formats.arrays import Array, ArrayFile, Floats

LARGEST = 127
#: Without the lowest 8 bits of a float32.
_KEPT = np.uint32(0xFFFFFF00)


def round_rows(weight: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """[V, D] → numbers [V, D] and scales [V]"""
    largest = np.abs(weight).max(axis=1, initial=0).astype(np.float32) / np.float32(LARGEST)
    scales = (largest.view(np.uint32) & _KEPT).view(np.float32)
    scales[scales < np.finfo(np.float32).tiny] = 0  # a row that small is nothing, and its scale has few bits
    factors = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0, dtype=np.float64)
    return np.rint(weight * factors[:, None]).astype(np.int8), scales


def widen_rows(numbers: npt.NDArray[np.int8], scales: Floats) -> Floats:
    """The way back: numbers [V, D], scales [V] → [V, D]"""
    return numbers.astype(np.float32) * scales[:, None]


def with_widened(file: ArrayFile, weight: str, scale: str) -> ArrayFile:
    """The file as if ``weight`` stood in it as float32, where its rows are rounded and ``scale`` is there too."""
    if scale not in file.arrays:
        return file
    rounded, scales = file.arrays.get(weight), file.arrays[scale]
    if rounded is None:
        raise file.missing(weight)
    if rounded.kind != "I8" or not rounded.shape:
        raise FormatError(f"{file.name}: the array {weight!r} has scales, but holds {rounded.kind} instead of int8")
    if scales.shape != rounded.shape[:1]:
        raise WrongShape(file.name, scale, rounded.shape[:1], scales.shape)
    file.check({scale: scales.shape})
    widened = Array(rounded.shape, "int8", True, lambda: widen_rows(rounded.read(), file.read(scale)))
    arrays = {name: array for name, array in file.arrays.items() if name != scale}
    return replace(file, arrays={**arrays, weight: widened})
