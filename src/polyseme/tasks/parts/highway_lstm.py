"""LSTM layers that alternate between reading from the left and from the right, with highways (He et al., 2017).

One step of a layer, ``x`` from the layer below, ``h`` and ``c`` from the step before:

    i, f, o, r = σ(x · W + h · U + b)      g = tanh(x · W_g + h · U_g + b_g)
    c ← i ∘ g + f ∘ c                      h ← r ∘ o ∘ tanh(c) + (1 − r) ∘ x · W_carry

The highway gate r lets a layer pass on its input, so that eight layers can be trained.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from polyseme.nn.cells import Cell, run_cells
from polyseme.nn.dropout import keep_mask
from polyseme.nn.training_kernel import training_kernel
from polyseme.tasks.parts.encoders import Turn


class HighwayLSTM(nn.Module):
    """One layer, which reads from left to right."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.input = nn.Linear(width, 6 * hidden)  # i, f, o, r, g, carry
        self.state = nn.Parameter(torch.empty(hidden, 5 * hidden))  # i, f, o, r, g
        for gate in self.state.data.chunk(5, dim=1):
            nn.init.orthogonal_(gate)
        for gate in self.input.weight.data.chunk(6, dim=0):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.input.bias)
        nn.init.ones_(self.input.bias.data[hidden : 2 * hidden])  # forget gates begin open

    def forward(self, x: Tensor, dropout: float = 0.0) -> Tensor:
        """[T, B, width] → [T, B, hidden]; ``dropout`` drops the same features of h at every step"""
        kept = keep_mask(x.new_empty(x.shape[1], self.hidden), dropout if self.training else 0.0)  # [B, H]
        if (kernel := training_kernel(x)) is not None:
            return run_cells(kernel, Cell.HIGHWAY, x, self.input.weight, self.input.bias, self.state, kept)
        return self.by_pytorch(x, kept)

    def by_pytorch(self, x: Tensor, kept: Tensor) -> Tensor:
        """The readable form; ``kept`` is what is kept of the states [B, H]"""
        size = self.hidden
        projected = self.input(x)  # [T, B, 6H]
        gates, carries = projected[..., : 5 * size].unbind(0), projected[..., 5 * size :].unbind(0)
        h = c = torch.zeros_like(kept)
        outputs = []
        for gate, carry in zip(gates, carries, strict=True):
            both = torch.addmm(gate, h, self.state)  # [B, 5H]
            i, f, o, r = torch.sigmoid(both[:, : 4 * size]).chunk(4, dim=1)
            c = i * torch.tanh(both[:, 4 * size :]) + f * c
            h = torch.lerp(carry, o * torch.tanh(c), r) * kept
            outputs.append(h)
        return torch.stack(outputs)


class AlternatingHighwayLSTM(nn.Module):
    """Stacked layers; the first reads from the left, the second from the right, and so on."""

    def __init__(self, width: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [width, *([hidden] * (layers - 1))]
        self.layers = nn.ModuleList(HighwayLSTM(size, hidden) for size in widths)
        self.dropout = dropout

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """[B, N, width] and [B] → [B, N, hidden], zeros for padding"""
        turn = Turn(lengths, x.shape[1])
        y = x.transpose(0, 1)  # [N, B, width]
        for layer in self.layers:
            y = turn(layer(y, self.dropout))
        if len(self.layers) % 2:
            y = turn(y)
        return (y * turn.inside).transpose(0, 1)
