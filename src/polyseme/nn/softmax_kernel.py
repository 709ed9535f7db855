"""The sampled softmax on the compiled kernel, with its gradients; see softmax.py."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from polyseme.nn.training_kernel import TrainingKernel


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
    hits: Tensor,  # [R] the negative that is the row's own target, or -1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ln of the sum over target and negatives [R]; of their sum the gradients by h, weight and bias."""
    weight, bias = weight.contiguous(), bias.contiguous()
    log_sums, grad_h = torch.empty_like(target_logits), torch.empty_like(h)
    grad_weight, grad_bias = h.new_empty(h.shape[1], len(bias)), torch.empty_like(bias)
    negatives = _Negatives(len(bias), h.shape[1], weight.data_ptr(), bias.data_ptr())
    outputs = log_sums, grad_h, grad_weight, grad_bias
    kernel.call("sampled_softmax", negatives, len(h), h.contiguous(), target_logits, hits, *outputs)
    return log_sums, grad_h, grad_weight.t(), grad_bias
