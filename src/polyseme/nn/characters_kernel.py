"""The character CNN on the compiled kernel, with its gradients; see token_encoder.py."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyseme.nn.training_kernel import TrainingKernel, numbers


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
    """ids [U, C] of tokens → [U, F] the largest window of each filter."""

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
        grad_embedding[0] = 0  # the row of padding tokens is no parameter
        parts = torch.split(grad_flat, [n * w * embedding.shape[1] for n, w in zip(counts, widths, strict=True)])
        filters = [
            part.view(n, w, -1).transpose(1, 2).contiguous() for part, n, w in zip(parts, counts, widths, strict=True)
        ]
        return None, grad_embedding, grad_biases, None, *filters
