"""The moving average of weights: its formula, its place in the network, and a decay of 0."""

from __future__ import annotations

import torch
from torch import nn

from polyseme.nn.moving_average import MovingAverage


def test_it_is_the_average_of_the_formula() -> None:
    network = nn.Linear(2, 1, bias=False)
    network.weight.data.fill_(1.0)
    average = MovingAverage(network, 0.5)
    expected = 1.0
    for step in range(1, 20):
        network.weight.data.fill_(float(step))
        average.follow(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    torch.testing.assert_close(average.values["weight"], torch.full((1, 2), expected))


def test_the_network_has_it_within_the_block_and_its_own_weights_after() -> None:
    network = nn.Linear(2, 1)
    average = MovingAverage(network, 0.9)
    before = network.weight.detach().clone()
    network.weight.data += 1
    with average.in_place():
        assert torch.equal(network.weight, before)
    assert torch.equal(network.weight, before + 1)


def test_frozen_weights_and_a_decay_of_zero_have_none() -> None:
    network = nn.Linear(2, 1)
    network.bias.requires_grad_(False)
    assert set(MovingAverage(network, 0.9).values) == {"weight"}
    none = MovingAverage(network, 0.0)
    weights = network.weight.detach().clone()
    none.follow(1)
    with none.in_place():
        assert torch.equal(network.weight, weights)
    assert none.values == {}
