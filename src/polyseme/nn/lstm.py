"""The LSTM with a projection and clipping (Sak et al., 2014), as in the original biLM.

One step, ``h`` the projected output and ``c`` the cell:

    i, f, o, g = x · W_input + h · W_state + b
    c ← clip(σ(f + 1) · c + σ(i) · tanh(g))
    h ← clip((σ(o) · tanh(c)) · W_projection)

Weights are stored for ``x @ W``: this layout is fast for small batches, and that of the released files.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyseme.bilm_config import FORGET_BIAS, BiLMConfig


class CellState(NamedTuple):
    """The state of one LSTM layer for each sentence."""

    h: Tensor  # [B, D]
    c: Tensor  # [B, H]


class ProjectedLSTM(nn.Module):
    """One layer in one direction."""

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        size, cell = config.projection, config.cell
        self.cell_clip = config.cell_clip
        self.projection_clip = config.projection_clip if config.has_projection else None
        self.input_weight = nn.Parameter(torch.empty(size, 4 * cell))  # [D, 4H], gates in the order i, f, o, g
        self.state_weight = nn.Parameter(torch.empty(size, 4 * cell))  # [D, 4H]
        self.bias = nn.Parameter(torch.zeros(4 * cell))  # [4H]
        self.projection = nn.Parameter(torch.empty(cell, size)) if config.has_projection else None  # [H, D]
        self.reset_parameters()

    @property
    def cell_size(self) -> int:
        return self.bias.shape[0] // 4

    def full_bias(self) -> Tensor:
        """The bias with the forget gate's constant. [4H]"""
        constant = self.bias.new_zeros(4, self.cell_size)
        constant[1] = FORGET_BIAS
        return self.bias + constant.flatten()

    def zero_state(self, sentences: int) -> CellState:
        return CellState(
            self.bias.new_zeros(sentences, self.input_weight.shape[0]),
            self.bias.new_zeros(sentences, self.cell_size),
        )

    def forward(self, x: Tensor, mask: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
        """[B, T, D] inputs, [B, T] mask, true for tokens → [B, T, D] outputs (0 for padding), final state."""
        h, c = state or self.zero_state(x.shape[0])
        gates = x @ self.input_weight + self.full_bias()  # [B, T, 4H]
        outputs = []
        for t in range(x.shape[1]):
            here = mask[:, t, None]  # [B, 1]
            new_h, new_c = self.step(gates[:, t], CellState(h, c))
            h, c = torch.where(here, new_h, h), torch.where(here, new_c, c)
            outputs.append(new_h * here)
        return torch.stack(outputs, dim=1) if outputs else x, CellState(h, c)

    def step(self, gates: Tensor, state: CellState) -> CellState:
        """[B, 4H] the input's part of the gates, and the state before the step → the state after it."""
        h, c = state
        i, f, o, g = (gates + h @ self.state_weight).chunk(4, dim=1)  # [B, H] each
        c = _clip(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g), self.cell_clip)
        h = torch.sigmoid(o) * torch.tanh(c)
        if self.projection is not None:
            h = _clip(h @ self.projection, self.projection_clip)
        return CellState(h, c)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Glorot initialisation of the whole kernel [input; state], as in the original; bias 0."""
        size, cell = self.input_weight.shape[0], self.cell_size
        bound = (6 / (2 * size + 4 * cell)) ** 0.5
        nn.init.uniform_(self.input_weight, -bound, bound)
        nn.init.uniform_(self.state_weight, -bound, bound)
        nn.init.zeros_(self.bias)
        if self.projection is not None:
            nn.init.xavier_uniform_(self.projection)


def _clip(x: Tensor, bound: float | None) -> Tensor:
    return x if bound is None else x.clamp(-bound, bound)
