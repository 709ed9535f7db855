"""Parts that several task networks are built of."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn


class BiRNN(nn.Module):
    """Bidirectional recurrent layers over sentences of different lengths; padding is never read.

    Two networks that read padded sentences, one of them turned, take a third to two thirds of the time of one over
    packed sentences, which PyTorch runs on a CPU step by step with ever fewer rows.
    """

    kind: ClassVar[type[nn.LSTM] | type[nn.GRU]]

    def __init__(self, width: int, hidden: int, *, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        widths = [width, *([2 * hidden] * (layers - 1))]
        self.from_left = nn.ModuleList(self.kind(size, hidden) for size in widths)
        self.from_right = nn.ModuleList(self.kind(size, hidden) for size in widths)
        self.dropout = nn.Dropout(dropout)
        self.width = 2 * hidden

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """[B, N, width in] and [B] → [B, N, 2 hidden], zeros where no token stands"""
        if x.shape[1] == 0:
            return x.new_zeros(x.shape[0], 0, self.width)
        turn = Turn(lengths, x.shape[1])
        y = x.transpose(0, 1)  # [N, B, width in]
        for number, (left, right) in enumerate(zip(self.from_left, self.from_right, strict=True)):
            y = self.dropout(y) if number else y
            y = torch.cat([left(y)[0], turn(right(turn(y))[0])], dim=2)  # [N, B, 2 hidden]
        return (y * turn.inside).transpose(0, 1)


class BiLSTM(BiRNN):
    kind = nn.LSTM


class BiGRU(BiRNN):
    kind = nn.GRU


class Turn:
    """Sentences from right to left, each within its own length: padding stands behind the end in both orders."""

    def __init__(self, lengths: Tensor, count: int) -> None:
        places = torch.arange(count, device=lengths.device)[:, None]  # [N, 1]
        here = places < lengths[None, :]  # [N, B]
        self.inside = here[:, :, None]  # [N, B, 1] whether a token stands there
        self.places = torch.where(here, lengths[None, :] - 1 - places, places)[:, :, None]  # [N, B, 1]

    def __call__(self, x: Tensor) -> Tensor:
        """[N, B, D] → [N, B, D]"""
        return x.gather(0, self.places.expand_as(x))


class VariationalDropout(nn.Module):
    """Dropout that leaves out the same numbers of every token of a sentence."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, D] → [B, N, D]"""
        if not self.training or self.share == 0:
            return x
        kept = torch.empty(x.shape[0], 1, x.shape[2], device=x.device).bernoulli_(1 - self.share)
        return x * (kept / (1 - self.share))
