"""Matrix products whose rows do not depend on each other, to the last bit.

A BLAS chooses its kernel by the shape, so the bits of a row can change with the number of rows beside it. oneDNN with
packed weights hardly does (one thread, torch 2.13: of all shapes tried, only a single row times a matrix of more than
1,024 rows came out differently), and is 1.1 to 3 times as fast for few rows. Every product finds out, when it is made,
how many rows it needs to keep the bits, and never runs with fewer.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

#: oneDNN compiles and keeps a kernel of half a megabyte for each number of rows; so there are few numbers: the number
#: is rounded up to a multiple of the second where it is at most the first.
ROUNDING = ((4, 1), (64, 4), (sys.maxsize, 32))
#: Numbers of rows that are tried; with the last of them every BLAS tried keeps the bits.
PROBED_ROWS, MANY_ROWS = (1, 2, 3, 4, 8, 16), 64
#: What was found, by kind of kernel, K and N.
_LEAST_ROWS: dict[tuple[type, int, int], int] = {}


@dataclass(frozen=True, slots=True)
class Plain:
    """The product of the BLAS that torch uses, on any device."""

    weight: Tensor  # [K, N]

    @classmethod
    def of(cls, weight: Tensor) -> Plain:
        return cls(weight.contiguous())

    def times(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return torch.mm(x, self.weight) if bias is None else torch.addmm(bias, x, self.weight)

    def plus(self, x: Tensor, other: Tensor) -> Tensor:
        return torch.addmm(other, x, self.weight)


@dataclass(frozen=True, slots=True)
class Packed:
    """oneDNN's product, with the weight packed once."""

    weight: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> Packed:
        return cls(torch.ops.mkldnn._reorder_linear_weight(weight.t().contiguous()))

    def times(self, x: Tensor, bias: Tensor | None) -> Tensor:
        y: Tensor = _linear()(x, self.weight, bias, "none", [], "")
        return y

    def plus(self, x: Tensor, other: Tensor) -> Tensor:
        y: Tensor = _linear_plus()(x, other, self.weight, None, "add")
        return y


class Product:
    """``x @ weight + bias`` for a fixed weight [K, N]."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        on_cpu = weight.device.type == "cpu"
        kind = Packed if on_cpu and can_pack() else Plain
        self.kernel = kind.of(weight)
        self.bias = bias
        self.least_rows = least_rows(self.kernel, *weight.shape) if on_cpu else 1
        self.rounding = ROUNDING if kind is Packed else ((sys.maxsize, 1),)

    def __call__(self, x: Tensor) -> Tensor:
        """[R, K] → [R, N], a new tensor."""
        rows = x.shape[0]
        filled = rows_filled_up(rows, self.least_rows, self.rounding)
        if filled == rows:
            return self.kernel.times(x, self.bias)
        return self.kernel.times(_fill(x, filled), self.bias)[:rows]

    def plus(self, x: Tensor, other: Tensor) -> Tensor:
        """[R, K], [R, N] → ``other + x @ weight`` [R, N], a new tensor; the bias plays no part."""
        rows = x.shape[0]
        filled = rows_filled_up(rows, self.least_rows, self.rounding)
        if filled == rows:
            return self.kernel.plus(x, other)
        return self.kernel.plus(_fill(x, filled), _fill(other, filled))[:rows]


@cache
def rows_filled_up(rows: int, least: int, rounding: tuple[tuple[int, int], ...]) -> int:
    """With how many rows a kernel runs for so many."""
    rows = max(rows, least)
    multiple = next(multiple for most, multiple in rounding if rows <= most)
    return -(-rows // multiple) * multiple


def _fill(x: Tensor, rows: int) -> Tensor:
    """``x``, with rows of zeros behind it where it has too few."""
    return torch.nn.functional.pad(x, (0, 0, 0, rows - len(x)))


@cache
def _linear() -> Any:
    return torch.ops.mkldnn._linear_pointwise.default


@cache
def _linear_plus() -> Any:
    return torch.ops.mkldnn._linear_pointwise.binary


@cache
def can_pack() -> bool:
    """Whether torch has oneDNN with packed weights here; it does not promise these operations to users."""
    if not torch._C._has_mkldnn:
        return False
    try:
        kernel = Packed.of(torch.ones(3, 4))
        twice: Any = kernel.plus(torch.ones(2, 3), kernel.times(torch.ones(2, 3), None))
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool((twice == 6).all())


def least_rows(kernel: Plain | Packed, depth: int, columns: int) -> int:
    """The fewest rows with which a product of this shape has the bits that it has with many."""
    shape = (type(kernel), depth, columns)
    if shape not in _LEAST_ROWS:
        generator = torch.Generator().manual_seed(depth)
        x = torch.randn(MANY_ROWS, depth, dtype=torch.float32, generator=generator)
        many = kernel.times(x, None)
        if not many.any():
            return PROBED_ROWS[-1]  # nothing but zeros says nothing about the shape
        _LEAST_ROWS[shape] = _probe(kernel, x, many)
    return _LEAST_ROWS[shape]


def _probe(kernel: Plain | Packed, x: Tensor, many: Tensor) -> int:
    starts = range(0, 48, 12) if many.shape[1] < 512 else (0,)  # a narrow product has few bits to differ in
    enough = PROBED_ROWS[-1]
    for rows in reversed(PROBED_ROWS):
        places = (slice(start, start + rows) for start in starts)
        if not all(torch.equal(kernel.times(x[place], None), many[place]) for place in places):
            break
        enough = rows
    return enough
