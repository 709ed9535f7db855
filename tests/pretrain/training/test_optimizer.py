"""Updates against torch's own optimisers, and the rows that no step touches."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyseme.pretrain.training.optimizer import Adagrad, AdamSettings, AdamW, clip_norm


def parameters() -> list[nn.Parameter]:
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape)) for shape in [(4, 3), (5,), (6, 3), (6,)]]  # two dense, softmax W and b


@pytest.mark.parametrize("name", ["adagrad", "adamw"])
def test_touching_every_row_is_the_dense_update_of_torch(name: str) -> None:
    ours, theirs = parameters(), parameters()
    if name == "adagrad":
        mine: Adagrad | AdamW = Adagrad(ours[:2], ours[2], ours[3])
        reference: torch.optim.Optimizer = torch.optim.Adagrad(theirs, lr=0.2, initial_accumulator_value=1.0, eps=0)
    else:
        mine = AdamW(ours[:2], ours[2], ours[3], AdamSettings(decay=0.1))
        groups = [{"params": theirs[::2], "weight_decay": 0.1}, {"params": theirs[1::2], "weight_decay": 0.0}]
        reference = torch.optim.AdamW(groups, lr=0.2, betas=(0.9, 0.99))
    for _ in range(5):
        grads = [torch.randn_like(p) for p in ours]
        mine.step(grads[:2], grads[2], grads[3], torch.arange(6), 0.2)
        for parameter, grad in zip(theirs, grads, strict=True):
            parameter.grad = grad
        reference.step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", [Adagrad, AdamW])
def test_rows_without_a_gradient_stay_as_they_are(kind: type[Adagrad] | type[AdamW]) -> None:
    ours = parameters()
    before = ours[2].detach().clone()
    rows = torch.tensor([1, 4])
    kind(ours[:2], ours[2], ours[3]).step(
        [torch.ones_like(p) for p in ours[:2]], torch.ones(2, 3), torch.ones(2), rows, 0.1
    )
    changed = (ours[2] != before).any(dim=1)
    assert changed.tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize("kind", [Adagrad, AdamW])
def test_a_saved_state_goes_on_with_the_same_bits(kind: type[Adagrad] | type[AdamW]) -> None:
    def step(optimizer: Adagrad | AdamW, number: int) -> None:
        torch.manual_seed(number)
        optimizer.step(
            [torch.randn(4, 3), torch.randn(5)], torch.randn(2, 3), torch.randn(2), torch.tensor([0, 3]), 0.1
        )

    ours = parameters()
    whole = kind(ours[:2], ours[2], ours[3])
    step(whole, 1)
    kept = {name: tensor.clone() for name, tensor in whole.state().items()}
    middle = [p.detach().clone() for p in ours]
    step(whole, 2)
    again = [nn.Parameter(p) for p in middle]
    resumed = kind(again[:2], again[2], again[3])
    resumed.load(kept)
    step(resumed, 2)
    assert all(torch.equal(a, b) for a, b in zip(ours, again, strict=True))


def test_clipping_scales_all_gradients_together() -> None:
    grads = [torch.tensor([3.0]), torch.tensor([4.0])]
    assert clip_norm(grads, 10.0) == pytest.approx(5)
    assert [g.item() for g in grads] == [3, 4]
    assert clip_norm(grads, 1.0) == pytest.approx(5)
    assert [g.item() for g in grads] == pytest.approx([0.6, 0.8])
    assert clip_norm(grads, None) == pytest.approx(1)
