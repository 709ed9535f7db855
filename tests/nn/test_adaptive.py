"""The adaptive softmax: a distribution, the loss of its own probabilities, and torch's implementation."""

from __future__ import annotations

import torch
from torch import Tensor

from polyseme.nn.adaptive import Clusters, adaptive_log_probabilities, adaptive_loss

WORDS, SIZE, CUTOFFS = 40, 6, (10, 25)


def a_softmax() -> tuple[Tensor, Tensor, Clusters]:
    torch.manual_seed(0)
    weight, bias = torch.randn(WORDS, SIZE).double(), torch.randn(WORDS).double()
    return weight, bias, Clusters(CUTOFFS, torch.randn(2, SIZE).double(), torch.randn(2).double())


def test_probabilities_sum_to_one() -> None:
    h = torch.randn(5, SIZE).double()
    total = adaptive_log_probabilities(h, *a_softmax()).exp().sum(dim=1)
    torch.testing.assert_close(total, torch.ones(5).double())


def test_the_loss_is_that_of_its_probabilities() -> None:
    h, targets = torch.randn(60, SIZE).double(), torch.randint(WORDS, (60,))
    found = adaptive_log_probabilities(h, *a_softmax())[torch.arange(60), targets]
    torch.testing.assert_close(adaptive_loss(h, *a_softmax(), targets), -found.sum())


def test_a_batch_without_rare_targets_has_a_finite_loss() -> None:
    h, targets = torch.randn(3, SIZE).double(), torch.tensor([0, 1, 2])
    assert torch.isfinite(adaptive_loss(h, *a_softmax(), targets))


def test_it_is_the_one_of_torch_without_its_projections() -> None:
    weight, bias, clusters = a_softmax()
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(SIZE, WORDS, list(CUTOFFS), div_value=1.0, head_bias=True).double()
    with torch.no_grad():
        theirs.head.weight.copy_(torch.cat([weight[:10], clusters.weight]))
        theirs.head.bias.copy_(torch.cat([bias[:10], clusters.bias]))
        for tail, start, stop in zip(theirs.tail, (10, 25), (25, 40), strict=True):
            tail[0].weight.copy_(torch.eye(SIZE))
            tail[1].weight.copy_(weight[start:stop])  # torch's clusters have no bias
    bias = torch.cat([bias[:10], torch.zeros(30).double()])
    h = torch.randn(7, SIZE).double()
    torch.testing.assert_close(adaptive_log_probabilities(h, weight, bias, clusters), theirs.log_prob(h).detach())
