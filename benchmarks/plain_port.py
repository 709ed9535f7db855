"""A line-by-line port of bilm-tf's training graph to PyTorch: the baseline of benchmarks/pretrain.py.

A loop over time steps under autograd, the character CNN over all 50 characters of every token for each direction,
a draw of negatives for each direction, and a dense update of the whole softmax. The objective is the trainer's.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from polyseme.nn.lstm import CellState
from polyseme.nn.softmax import Negatives, draw_negatives
from polyseme.pretrain.training.batches import PackedBatch, Reading
from polyseme.pretrain.training.language_model import LanguageModel, lstm_layers


class PlainPort:
    """Trains on windows of text from the zero state, one Adagrad step each."""

    def __init__(self, model: LanguageModel, negatives: int) -> None:
        self.model, self.negatives = model, negatives
        self.random = np.random.default_rng(0)
        self.optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2, initial_accumulator_value=1.0, eps=0)

    def step(self, batch: PackedBatch) -> float:
        """Make one update; returns the mean loss."""
        self.optimizer.zero_grad()
        losses = [self._loss(number, reading, batch.rows) for number, reading in enumerate(batch.readings)]
        loss = torch.stack(losses).mean()
        (loss * len(batch.readings[0].sizes)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        return float(loss.detach())

    def _loss(self, number: int, reading: Reading, rows: Tensor) -> Tensor:
        steps, size = len(reading.sizes), reading.sizes[0]
        tokens = self.model.bilm.token_encoder(rows[reading.inputs])  # every token, all of its characters
        x = tokens.view(steps, size, -1).transpose(0, 1)  # [B, T, D]
        mask = torch.ones(size, steps, dtype=torch.bool)
        for layer, cell in enumerate(lstm_layers(self.model.bilm, number)):
            y, _ = cell(x, mask, CellState(*cell.zero_state(size)))
            x = y + x if layer else y
        h = x.transpose(0, 1).reshape(steps * size, -1)  # [T·B, D]
        words = len(self.model.softmax.bias)
        return self._sampled(h, reading.targets, draw_negatives(words, self.negatives, self.random), words)

    def _sampled(self, h: Tensor, targets: Tensor, negatives: Negatives, words: int) -> Tensor:
        weight, bias = self.model.softmax.weight, self.model.softmax.bias
        true = (h * weight[targets]).sum(1) + bias[targets] - negatives.log_expected_count(targets, words)
        others = (
            h @ weight[negatives.ids].t() + bias[negatives.ids] - negatives.log_expected_count(negatives.ids, words)
        )
        others = others.masked_fill(targets[:, None] == negatives.ids[None], -torch.inf)
        return -torch.log_softmax(torch.cat([true[:, None], others], dim=1), dim=1)[:, 0].mean()
