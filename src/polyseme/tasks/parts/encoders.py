"""Encoders that several task networks share: BiLSTM, BiGRU, initialisation and variational dropout."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from polyseme.nn.cells import run_gru
from polyseme.nn.dropout import Dropout, keep_mask


class BiRNN(nn.Module):
    """Bidirectional recurrent layers over sentences of different lengths; padding is never read.

    Two networks over padded sentences, one of them reversed, take a third to two thirds of the time of one over packed
    sentences, which PyTorch runs on a CPU step by step with ever fewer rows.
    """

    kind: ClassVar[type[nn.LSTM] | type[nn.GRU]]

    def __init__(self, width: int, hidden: int, *, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        widths = [width, *([2 * hidden] * (layers - 1))]
        self.from_left = nn.ModuleList(self.kind(size, hidden) for size in widths)
        self.from_right = nn.ModuleList(self.kind(size, hidden) for size in widths)
        self.dropout = Dropout(dropout)
        self.width = 2 * hidden
        for part in (*self.from_left, *self.from_right):
            start_recurrent(part)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """[B, N, width in] and [B] → [B, N, 2 hidden], zeros for padding"""
        if x.shape[1] == 0:
            return x.new_zeros(x.shape[0], 0, self.width)
        turn = Turn(lengths, x.shape[1])
        y = x.transpose(0, 1)  # [N, B, width in]
        for number, (left, right) in enumerate(zip(self.from_left, self.from_right, strict=True)):
            y = self.dropout(y) if number else y
            y = torch.cat([self.run(left, y), turn(self.run(right, turn(y)))], dim=2)  # [N, B, 2 hidden]
        return (y * turn.inside).transpose(0, 1)

    def run(self, layer: nn.Module, x: Tensor) -> Tensor:
        """One layer in one direction: [N, B, width] → [N, B, hidden]"""
        y: Tensor = layer(x)[0]
        return y


class BiLSTM(BiRNN):
    kind = nn.LSTM


class BiGRU(BiRNN):
    kind = nn.GRU

    def run(self, layer: nn.Module, x: Tensor) -> Tensor:
        assert isinstance(layer, nn.GRU)
        return run_gru(layer, x)


class Turn:
    """Reverses sentences, each within its own length, so that padding stays at the end."""

    def __init__(self, lengths: Tensor, count: int) -> None:
        places = torch.arange(count, device=lengths.device)[:, None]  # [N, 1]
        here = places < lengths[None, :]  # [N, B]
        self.inside = here[:, :, None]  # [N, B, 1] whether there is a token
        self.places = torch.where(here, lengths[None, :] - 1 - places, places)[:, :, None]  # [N, B, 1]

    def __call__(self, x: Tensor) -> Tensor:
        """[N, B, D] → [N, B, D]"""
        return x.gather(0, self.places.expand_as(x))


def start_recurrent(layer: nn.Module) -> None:
    """Initialise weights so that inputs and states keep their size; an LSTM's forget gate begins open.

    With PyTorch's own initialisation, two stacked LSTMs give almost the same output for every sentence: on 100
    sentences, sentiment was 32 % right after 48 steps, and 71 % with this initialisation and `start_for_relu`.
    """
    for name, value in layer.named_parameters():
        if name.startswith("weight_hh"):
            nn.init.orthogonal_(value)
        elif name.startswith("weight_ih"):
            nn.init.xavier_uniform_(value)
        else:
            nn.init.zeros_(value)
            if isinstance(layer, nn.LSTM) and name.startswith("bias_hh"):
                nn.init.ones_(value.data[layer.hidden_size : 2 * layer.hidden_size])


def start_for_relu(part: nn.Module) -> None:
    """Initialise weights so that values keep their size through a ReLU (He et al., 2015): 2.4 times PyTorch's own."""
    if isinstance(part, nn.Linear):
        nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
        if part.bias is not None:
            nn.init.zeros_(part.bias)


class VariationalDropout(nn.Module):
    """Dropout that drops the same features of every token of a sentence."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, D] → [B, N, D]"""
        if not self.training or self.share == 0:
            return x
        return x * keep_mask(x[:, :1], self.share)  # [B, 1, D]
