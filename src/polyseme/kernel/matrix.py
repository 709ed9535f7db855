"""Weights packed for the kernel's products: panels of columns, each read once from front to back (product.h)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from polyseme.kernel.library import Library

Floats = npt.NDArray[np.float32]


class Kind(IntEnum):
    """What the weights are, and what they are multiplied with."""

    FLOAT32 = 0
    FLOAT16 = 1  #: half weights, float rows
    INT8 = 2  #: 8-bit weights with a scale a column, rows rounded to 8 bits
    INT8_WIDE = 3  #: 8-bit weights with a scale a column, rows rounded to 16 bits


class Matrix(ctypes.Structure):
    """As product.h has it."""

    _fields_ = [
        ("kind", ctypes.c_int64),
        ("depth", ctypes.c_int64),
        ("panels", ctypes.c_int64),
        ("weights", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
    ]


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """The arrays that a ``Matrix`` points into."""

    kind: Kind
    depth: int
    weights: npt.NDArray[np.generic]  # [panels, K / group, panel, group]
    scales: Floats | None
    offsets: npt.NDArray[np.int32] | None

    @property
    def struct(self) -> Matrix:
        """Valid as long as this object lives."""
        scales, offsets = (None if array is None else array.ctypes.data for array in (self.scales, self.offsets))
        return Matrix(self.kind, self.depth, len(self.weights), self.weights.ctypes.data, scales, offsets)


def pack(library: Library, weight: Floats, kind: Kind) -> PackedMatrix:
    """[K, N] → packed, N filled up to whole panels, K to whole groups."""
    group = {Kind.INT8: library.group8, Kind.INT8_WIDE: library.group16}.get(kind, 1)
    depth, columns = weight.shape
    filled = np.pad(weight, ((0, -depth % group), (0, -columns % library.panel)))
    if kind is Kind.FLOAT16:
        halves = filled.astype(np.float16)
        if library.halves:
            return PackedMatrix(kind, depth, _panels(halves, library.panel, 1), None, None)
        kind, filled = Kind.FLOAT32, halves.astype(np.float32)
    if kind is Kind.FLOAT32:
        return PackedMatrix(kind, depth, _panels(filled, library.panel, 1), None, None)
    rounded, scales = round_columns(filled)
    offsets = library.row_offset * rounded.sum(axis=0, dtype=np.int32) if kind is Kind.INT8 else None
    return PackedMatrix(kind, len(filled), _panels(rounded, library.panel, group), scales, offsets)


def round_columns(weight: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """[K, N] → whole numbers from -127 to 127 [K, N] and the scale of each column [N]."""
    scales = np.abs(weight).max(axis=0, initial=0) / np.float32(127)
    factors = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    return np.rint(weight * factors).astype(np.int8), scales


def _panels(weight: npt.NDArray[np.generic], panel: int, group: int) -> npt.NDArray[np.generic]:
    """[K, N] → [N / panel, K / group, panel, group], aligned for vectors"""
    depth, columns = weight.shape
    apart = weight.reshape(depth // group, group, columns // panel, panel).transpose(2, 0, 3, 1)
    packed = aligned(apart.shape, weight.dtype)
    packed[...] = apart
    return packed


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """An array that begins where a cache line does."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, dtype=np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(dtype).reshape(shape)
