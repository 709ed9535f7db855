"""The projected LSTM over whole sequences on the compiled kernel, with its gradients; see lstm_fused.py."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyseme.nn.training_kernel import TrainingKernel, numbers


class _LSTM(ctypes.Structure):
    """As training.c has it."""

    _fields_ = [
        *((name, c_int64) for name in ("size", "cells", "steps")),
        ("sizes", c_void_p),
        *((name, c_void_p) for name in ("input_weight", "state_weight", "bias", "projection", "start_h", "start_c")),
        *((name, c_float) for name in ("cell_clip", "projection_clip")),
    ]


class _Pointers(ctypes.Structure):
    """Five tensors: what the forward pass keeps, or all gradients."""

    _fields_ = [(f"tensor_{number}", c_void_p) for number in range(5)]

    @classmethod
    def to(cls, *tensors: Tensor) -> _Pointers:
        return cls(*(tensor.data_ptr() for tensor in tensors))


class KernelLSTM(torch.autograd.Function):
    """x [R, D], the weights of a layer, its state before → y [R, D], h [B, D] and c [B, H] after the last step.

    ``sizes`` are the sequences at each step. No gradient flows into or out of the states.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,  # [R, D]
        input_weight: Tensor,  # [D, 4H]
        state_weight: Tensor,  # [D, 4H]
        bias: Tensor,  # [4H]
        projection: Tensor,  # [H, D]
        start: tuple[Tensor, Tensor],  # [B, D], [B, H]
        sizes: tuple[int, ...],
        last: Tensor,  # [B] the last row of each sequence
        clips: tuple[float | None, float | None],
        kernel: TrainingKernel,
    ) -> tuple[Tensor, Tensor, Tensor]:
        inputs = [t.contiguous() for t in (input_weight, state_weight, bias, projection, *start)]
        counts = numbers(sizes)
        (rows, size), cells = x.shape, projection.shape[0]
        pointers = (t.data_ptr() for t in inputs)
        bounds = (float("inf") if clip is None else clip for clip in clips)
        lstm = _LSTM(size, cells, len(sizes), ctypes.addressof(counts), *pointers, *bounds)
        columns = {"gates": 4 * cells, "c": cells, "m": cells, "x": size, "h": size}
        kept = [torch.empty(rows, n, dtype=x.dtype if name == "c" else kernel.dtype) for name, n in columns.items()]
        y = x.new_empty(rows, size)
        kernel.call("lstm_forward", lstm, x.contiguous(), _Pointers.to(*kept), y)
        ctx.kernel, ctx.lstm, ctx.alive, ctx.kept, ctx.y = kernel, lstm, (inputs, counts), kept, y
        final_h, final_c = y[last], kept[1][last]
        ctx.mark_non_differentiable(final_h, final_c)
        return y, final_h, final_c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_y: Tensor, _grad_h: Tensor, _grad_c: Tensor) -> tuple[Tensor | None, ...]:
        weights = ctx.alive[0][:4]
        gradients = [torch.empty_like(ctx.y), *(torch.empty_like(w) for w in weights)]
        grad_y = grad_y.clone(memory_format=torch.contiguous_format)
        kernel: TrainingKernel = ctx.kernel
        kernel.call("lstm_backward", ctx.lstm, _Pointers.to(*ctx.kept), ctx.y, grad_y, _Pointers.to(*gradients))
        ctx.kept = None  # the gates are gradients now
        return (*gradients, None, None, None, None, None)


def takes_lstm(kernel: TrainingKernel | None, size: int, cells: int) -> bool:
    """Whether the kernel can run a projected layer of this shape."""
    return kernel is not None and size % kernel.lanes == 0 and cells % kernel.lanes == 0
