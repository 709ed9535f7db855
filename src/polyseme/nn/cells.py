"""GRUs and highway LSTMs over padded sequences [T, B, ·], on the compiled kernel (kernel/cell_training.h).

The input's part of the gates is one product over all steps, the kernel makes the steps in one call, and gradients of
weights are again products over all steps. PyTorch, which makes every step of these cells from a dozen operations, takes
2 to 4 times as long. LSTMs stay with PyTorch: its own takes no longer than this did (docs/log.md).
"""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from polyseme.nn.linear import product
from polyseme.nn.training_kernel import TrainingKernel, training_kernel


class Cell(IntEnum):
    """As cell_training.h numbers them."""

    GRU = 0
    HIGHWAY = 1


#: How many gates of a cell the input reaches, which come first; and where those stand that h reaches.
INPUT_GATES = {Cell.GRU: 3, Cell.HIGHWAY: 6}
STATE_GATES = {Cell.GRU: slice(1, 4), Cell.HIGHWAY: slice(0, 5)}
ALL_GATES = {Cell.GRU: 4, Cell.HIGHWAY: 6}


def run_gru(layer: nn.GRU, x: Tensor) -> Tensor:
    """One layer from left to right, from the zero state: [T, B, D] → [T, B, H]"""
    kernel = training_kernel(x)
    if kernel is None:
        y: Tensor = layer(x)[0]
        return y
    w, u, b, state_b = layer.all_weights[0]
    size = layer.hidden_size
    # PyTorch's order is r, z, n. The state's bias of n passes through r with its product, so it is not the input's.
    bias = b + functional.pad(state_b[: 2 * size], (0, size))
    return run_cells(kernel, Cell.GRU, x, w.roll(size, 0), bias.roll(size), u.t(), state_b[2 * size :])


def run_cells(
    kernel: TrainingKernel,
    kind: Cell,
    x: Tensor,  # [T, B, D]
    weight: Tensor,  # [X H, D] of the gates that the input reaches
    bias: Tensor,  # [X H]
    state: Tensor,  # [H, G H] of the gates that h reaches
    extra: Tensor,  # GRU: the state's bias of n [H]; highway LSTM: what is kept of h [B, H]
) -> Tensor:
    """Inputs and weights → h [T, B, H]"""
    h: Tensor = _Cells.apply(x, weight, bias, state, extra, kind, kernel)  # type: ignore[no-untyped-call]
    return h


class _Arguments(ctypes.Structure):
    """As cell_training.h has it."""

    _fields_ = [
        *((name, c_int64) for name in ("kind", "steps", "rows", "cells")),
        ("state", c_void_p),
        *((name, c_int64) for name in ("state_row", "state_column")),
        *((name, c_void_p) for name in ("extra", "gates", "c", "h")),
    ]

    @classmethod
    def of(cls, kind: Cell, state: Tensor, extra: Tensor, gates: Tensor, c: Tensor, h: Tensor) -> _Arguments:
        pointers = (t.data_ptr() for t in (extra, gates, c, h))
        return cls(kind, *h.shape, state.data_ptr(), *state.stride(), *pointers)


class _Cells(torch.autograd.Function):
    """What ``run_cells`` takes → h [T, B, H]"""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        state: Tensor,
        extra: Tensor,
        kind: Cell,
        kernel: TrainingKernel,
    ) -> Tensor:
        x, extra, size = x.contiguous(), extra.contiguous(), len(state)
        gates = product(x.flatten(0, 1), weight.t(), bias).view(*x.shape[:2], INPUT_GATES[kind], size)
        gates = functional.pad(gates, (0, 0, 0, ALL_GATES[kind] - INPUT_GATES[kind]))  # [T, B, S, H]
        h = x.new_empty(*x.shape[:2], size)
        c = torch.empty_like(h) if kind == Cell.HIGHWAY else h.new_empty(0)
        kernel.run("cells_forward", _Arguments.of(kind, state, extra, gates, c, h))
        ctx.kind, ctx.kernel, ctx.kept = kind, kernel, (gates, c)
        ctx.save_for_backward(x, weight, state, extra, h)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_h: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, state, extra, h = ctx.saved_tensors
        gates, c = ctx.kept
        ctx.kernel.run("cells_backward", _Arguments.of(ctx.kind, state, extra, gates, c, h), grad_h.contiguous())
        ctx.kept = None  # the gates now hold gradients
        of_input = gates[:, :, : INPUT_GATES[ctx.kind]].reshape(-1, len(weight))  # [T B, X H]
        of_state = gates[1:, :, STATE_GATES[ctx.kind]].reshape(-1, state.shape[1])  # [(T-1) B, G H]
        return (
            product(of_input, weight).view_as(x) if ctx.needs_input_grad[0] else None,
            product(of_input.t(), x.flatten(0, 1)),
            of_input.sum(0),
            product(h[:-1].flatten(0, 1).t(), of_state),
            gates[:, :, 3].sum((0, 1)) if ctx.kind == Cell.GRU else None,
            None,
            None,
        )
