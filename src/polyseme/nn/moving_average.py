"""A moving average of a network's weights: less noisy than those of a single step, and evaluated in their place.

average ← d · average + (1 − d) · weights       d = min(decay, (1 + step) / (10 + step)): the start is soon forgotten
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn


class MovingAverage:
    """The moving average of all trained weights; with a decay of 0, the weights themselves."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self._weights = {name: p for name, p in network.named_parameters() if p.requires_grad and decay}
        self.values = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def begin(self, values: Mapping[str, torch.Tensor]) -> None:
        """Start from these values; for those that are missing, from the current weights."""
        for name, weight in self._weights.items():
            self.values[name].copy_(values.get(name, weight))

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Update the average with the weights after step ``step``, counted from 1."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        for name, weight in self._weights.items():
            self.values[name].lerp_(weight, share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block, the network's weights are the average."""
        trained = {name: weight.detach().clone() for name, weight in self._weights.items()}
        self._put(self.values)
        try:
            yield
        finally:
            self._put(trained)

    @torch.no_grad()
    def _put(self, values: dict[str, torch.Tensor]) -> None:
        for name, weight in self._weights.items():
            weight.copy_(values[name])
