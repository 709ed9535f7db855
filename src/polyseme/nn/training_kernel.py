"""Training on the compiled kernel: an LSTM layer, the sampled softmax and the character CNN, with their gradients.

These take most of the time of a training step on a CPU. In float32, the kernel gives the same numbers as the readable
network. Inside ``lowered``, on processors with bfloat16 instructions, factors are rounded to bfloat16; sums, cells and
weights stay float32. On a GPU, in double precision, under autocast or without the kernel, PyTorch does the work
(``lstm_fused``, ``softmax``, ``token_encoder``).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_float, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyseme.kernel.library import Library, library

_asked = threading.local()


@contextmanager
def lowered(dtype: torch.dtype) -> Iterator[None]:
    """Within the block, and in this thread, the kernel multiplies factors of this type."""
    before = getattr(_asked, "dtype", torch.float32)
    _asked.dtype = dtype
    try:
        yield
    finally:
        _asked.dtype = before


@dataclass(frozen=True, slots=True)
class TrainingKernel:
    """The functions of the kernel for one type of factors."""

    library: Library
    dtype: torch.dtype

    @property
    def lanes(self) -> int:
        """Sizes have to be multiples of this number."""
        return self.library.panel // 4

    def call(self, name: str, *arguments: object) -> None:
        """Call a function for this type of factors; arguments are structures, integers and tensors."""
        self.run(f"{name}_{str(self.dtype).removeprefix('torch.')}", *arguments)

    def run(self, name: str, *arguments: object) -> None:
        function: Callable[..., int] = getattr(self.library.functions, f"polyseme_{name}")
        if not function(*(_passed(argument) for argument in arguments)):
            raise MemoryError(f"there is not enough memory for {name}")


def training_kernel(x: Tensor) -> TrainingKernel | None:
    """The kernel for computations with ``x``; None if PyTorch has to do them."""
    if x.device.type != "cpu" or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return None
    return _kernel(getattr(_asked, "dtype", torch.float32))


def has_bfloat16() -> bool:
    """Whether this processor and the kernel can multiply in bfloat16."""
    return _kernel(torch.bfloat16) is not None


@cache
def _kernel(dtype: torch.dtype) -> TrainingKernel | None:
    found = library()
    if found is None or (dtype == torch.bfloat16 and not found.functions.polyseme_has_bfloat16()):
        return None
    return TrainingKernel(found, dtype)


def _passed(argument: object) -> object:
    if isinstance(argument, Tensor):
        assert argument.is_contiguous() and argument.device.type == "cpu"
        return c_void_p(argument.data_ptr())
    if isinstance(argument, ctypes.Structure):
        return ctypes.byref(argument)
    assert isinstance(argument, int)
    return c_int64(argument)


def numbers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)


class _LSTM(ctypes.Structure):
    """As training.c has it."""

    _fields_ = [
        *((name, c_int64) for name in ("size", "cells", "steps")),
        ("sizes", c_void_p),
        *((name, c_void_p) for name in ("input_weight", "state_weight", "bias", "projection", "start_h", "start_c")),
        *((name, c_float) for name in ("cell_clip", "projection_clip")),
    ]


class _Pointers(ctypes.Structure):
    """Five tensors: those that the forward pass keeps, or all gradients."""

    _fields_ = [(f"tensor_{number}", c_void_p) for number in range(5)]

    @classmethod
    def to(cls, *tensors: Tensor) -> _Pointers:
        return cls(*(tensor.data_ptr() for tensor in tensors))


class KernelLSTM(torch.autograd.Function):
    """x [R, D], the weights of a layer, its initial state → y [R, D], h [B, D] and c [B, H] after the last step.

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
        ctx.kernel, ctx.lstm, ctx.alive, ctx.kept = kernel, lstm, (inputs, counts), kept
        ctx.save_for_backward(y)  # as an attribute, an output would keep itself alive: it holds on to ctx
        final_h, final_c = y[last], kept[1][last]
        ctx.mark_non_differentiable(final_h, final_c)
        return y, final_h, final_c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_y: Tensor, _grad_h: Tensor, _grad_c: Tensor) -> tuple[Tensor | None, ...]:
        (y,) = ctx.saved_tensors
        weights = ctx.alive[0][:4]
        gradients = [torch.empty_like(y), *(torch.empty_like(w) for w in weights)]
        grad_y = grad_y.clone(memory_format=torch.contiguous_format)
        kernel: TrainingKernel = ctx.kernel
        kernel.call("lstm_backward", ctx.lstm, _Pointers.to(*ctx.kept), y, grad_y, _Pointers.to(*gradients))
        ctx.kept = None  # the gates now hold gradients
        return (*gradients, None, None, None, None, None)


def takes_lstm(kernel: TrainingKernel | None, size: int, cells: int) -> bool:
    """Whether the kernel can run a projected layer of this shape."""
    return kernel is not None and size % kernel.lanes == 0 and cells % kernel.lanes == 0


class _Negatives(ctypes.Structure):
    """As training.c has it."""

    _fields_ = [("count", c_int64), ("size", c_int64), ("weight", c_void_p), ("bias", c_void_p)]


def takes_negatives(kernel: TrainingKernel | None, size: int, count: int) -> bool:
    """Whether the kernel can run a sampled softmax of this shape."""
    return kernel is not None and size % kernel.lanes == 0 and count % kernel.library.panel == 0


def sampled_softmax(
    kernel: TrainingKernel,
    h: Tensor,  # [R, D]
    weight: Tensor,  # [S, D] of the negatives
    bias: Tensor,  # [S] less the corrections
    target_logits: Tensor,  # [R]
    hits: Tensor,  # [R] the negative that equals the row's target, or -1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ln of the sum over target and negatives [R]; the gradients of their total by h, weight and bias."""
    weight, bias = weight.contiguous(), bias.contiguous()
    log_sums, grad_h = torch.empty_like(target_logits), torch.empty_like(h)
    grad_weight, grad_bias = h.new_empty(h.shape[1], len(bias)), torch.empty_like(bias)
    negatives = _Negatives(len(bias), h.shape[1], weight.data_ptr(), bias.data_ptr())
    outputs = log_sums, grad_h, grad_weight, grad_bias
    kernel.call("sampled_softmax", negatives, len(h), h.contiguous(), target_logits, hits, *outputs)
    return log_sums, grad_h, grad_weight.t(), grad_bias


class _Characters(ctypes.Structure):
    """As training.c has it."""

    _fields_ = [
        *((name, c_int64) for name in ("columns", "alphabet", "dim", "widths")),
        *((name, c_void_p) for name in ("width", "count", "embedding", "filters", "bias")),
    ]


def takes_characters(kernel: TrainingKernel | None, dim: int) -> bool:
    """Whether the kernel can run a character CNN of this shape."""
    return kernel is not None and dim % kernel.lanes == 0


class KernelCharacters(torch.autograd.Function):
    """ids [U, C] of tokens → [U, F] the maximum of each filter over all windows."""

    @staticmethod
    def forward(
        ctx: Any, ids: Tensor, embedding: Tensor, biases: Tensor, kernel: TrainingKernel, *filters: Tensor
    ) -> Tensor:
        # Each filter [count, dim, width] as [count, width, dim]: a window is then a row of numbers.
        flat = torch.cat([f.transpose(1, 2).reshape(-1) for f in filters])
        counts, widths = numbers([f.shape[0] for f in filters]), numbers([f.shape[2] for f in filters])
        inputs = ids.contiguous(), embedding.contiguous(), flat, biases.contiguous()
        cnn = _Characters(
            *(ids.shape[1], *embedding.shape, len(filters), ctypes.addressof(widths), ctypes.addressof(counts)),
            *(t.data_ptr() for t in inputs[1:]),
        )
        best = embedding.new_empty(len(ids), len(biases))
        winners = torch.empty(best.shape, dtype=torch.int16)
        kernel.call("characters_forward", cnn, inputs[0], len(ids), best, winners)
        ctx.kernel, ctx.cnn, ctx.alive, ctx.winners = kernel, cnn, (inputs, counts, widths), winners
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (ids, embedding, flat, biases), counts, widths = ctx.alive
        gradients = [torch.zeros_like(t) for t in (embedding, flat, biases)]
        kernel: TrainingKernel = ctx.kernel
        kernel.run("characters_backward", ctx.cnn, ids, len(ids), ctx.winners, grad.contiguous(), *gradients)
        grad_embedding, grad_flat, grad_biases = gradients
        grad_embedding[0] = 0  # the row for padding is not trained
        parts = torch.split(grad_flat, [n * w * embedding.shape[1] for n, w in zip(counts, widths, strict=True)])
        filters = [
            part.view(n, w, -1).transpose(1, 2).contiguous() for part, n, w in zip(parts, counts, widths, strict=True)
        ]
        return None, grad_embedding, grad_biases, None, *filters
