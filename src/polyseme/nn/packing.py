"""Sentences of a padded batch as packed rows, and back: step by step, longest sentence first, without the padding.

a0 a1 a2            sizes   [2, 2, 1]
b0 b1  –            rows    a0 b0 | a1 b1 | a2
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the rows of a batch [B, T, …] go."""

    rows: Tensor  # [R] places in [B · T]
    sizes: tuple[int, ...]  #: sentences that have a step, for each step
    order: Tensor  # [sizes[0]] sentences, longest first; empty ones are left out

    @classmethod
    def of(cls, lengths: Tensor, positions: int) -> Packing:
        """[B] lengths of sentences that begin at position 0 of T."""
        order = torch.argsort(lengths, descending=True, stable=True)
        step = torch.arange(positions, device=lengths.device)[:, None]  # [T, 1]
        is_there = step < lengths[order][None, :]  # [T, B]
        rows = (order[None, :] * positions + step)[is_there]
        sizes = tuple(size for size in is_there.sum(dim=1).tolist() if size)
        return cls(rows, sizes, order[: sizes[0] if sizes else 0])

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, D] → [R, D]"""
        return x.flatten(0, 1)[self.rows]

    def unpack(self, y: Tensor, like: Tensor) -> Tensor:
        """[R, D] → [B, T, D] as ``like``, zero where no token stands."""
        empty = y.new_zeros(like.shape[0] * like.shape[1], y.shape[1])
        return empty.index_copy(0, self.rows, y).view(*like.shape[:2], y.shape[1])
