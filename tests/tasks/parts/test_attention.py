"""Attention against its formula, pair by pair."""

from __future__ import annotations

import torch

from polyseme.tasks.parts.attention import TrilinearSimilarity, masked_softmax


def test_padding_gets_no_weight_and_the_rest_adds_up_to_one() -> None:
    scores = torch.tensor([[3.0, 1.0, 900.0], [0.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.softmax(torch.tensor([3.0, 1.0]), dim=0)
    found = masked_softmax(scores, mask)
    assert torch.allclose(found[0], torch.tensor([expected[0], expected[1], 0.0]))
    assert torch.equal(found[1], torch.zeros(3))


def test_trilinear_similarity_is_a_linear_layer_over_both_and_their_product() -> None:
    torch.manual_seed(0)
    similarity = TrilinearSimilarity(5)
    a, b = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    weights = torch.cat([similarity.first.weight[0], similarity.second.weight[0], similarity.product])
    pairs = [[[torch.cat([x, y, x * y]) @ weights for y in b[row]] for x in a[row]] for row in range(2)]
    expected = torch.stack([torch.stack([torch.stack(line) for line in row]) for row in pairs])
    assert torch.allclose(similarity(a, b), expected, atol=1e-5)
