"""Linear layers whose products oneDNN computes.

PyTorch leaves float32 products on a CPU to MKL, which on AMD processors takes 1.4 to 2.2 times as long as oneDNN, the
library that computes its LSTMs and convolutions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

#: What the compiler of PyTorch makes linear layers of; not every build of PyTorch has it.
_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """[I, K] · [K, J] + [J] → [I, J]"""
    if _ONEDNN is None or not _takes(a) or not _is_whole(b) or 0 in (*a.shape, *b.shape):
        return a @ b if bias is None else torch.addmm(bias, a, b)
    found: Tensor = _ONEDNN(a, b.t(), bias, "none", [], "")
    return found


def _is_whole(b: Tensor) -> bool:
    """Whether its rows or columns follow each other without a gap; with gaps, oneDNN is a thousand times as slow."""
    return b.is_contiguous() or b.t().is_contiguous()


def _takes(x: Tensor) -> bool:
    on_cpu = x.device.type == "cpu" and x.dtype == torch.float32
    return _ONEDNN is not None and on_cpu and not torch.is_autocast_enabled("cpu")


class Linear(nn.Linear):
    """``nn.Linear``, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not _takes(x):
            return super().forward(x)
        rows = x.reshape(-1, self.in_features)
        flat: Tensor = _Linear.apply(rows, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return flat.view(*x.shape[:-1], self.out_features)


class _Linear(torch.autograd.Function):
    """x [R, D], weight [N, D], bias [N] → [R, N]"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight.t(), bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            product(grad, weight) if needs_x else None,
            product(grad.t(), x) if needs_weight else None,
            grad.sum(0) if needs_bias else None,
        )
