"""Attention between two sequences: similarities, a softmax that ignores padding, weighted sums."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension; weights are 0 where ``mask`` is false, even if it is false everywhere."""
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask


class TrilinearSimilarity(nn.Module):
    """w · [a; b; a∘b] for every pair of a and b (Seo et al., 2017), without building the pairs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, 1, bias=False)
        self.second = nn.Linear(width, 1, bias=False)
        self.product = nn.Parameter(torch.empty(width))
        nn.init.uniform_(self.product, -(width**-0.5), width**-0.5)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """[B, N, D] and [B, M, D] → [B, N, M]"""
        products = torch.bmm(a * self.product, b.transpose(1, 2))
        similarity: Tensor = products + self.first(a) + self.second(b).transpose(1, 2)
        return similarity
