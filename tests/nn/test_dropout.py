"""Dropout: how many numbers go, what the others become, and that a seed decides it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyseme.nn.dropout import Dropout, keep_mask

NUMBERS = 400_003  # not a multiple of four: the last draw is used in part


@pytest.mark.parametrize("share", [0.1, 0.33, 0.5, 0.9])
def test_the_share_that_is_left_out_is_the_one_asked_for(share: float) -> None:
    torch.manual_seed(1)
    mask = keep_mask(torch.empty(NUMBERS), share)
    left_out = (mask == 0).double().mean().item()
    deviation = (share * (1 - share) / NUMBERS) ** 0.5
    assert abs(left_out - share) < 5 * deviation
    assert mask.double().mean().item() == pytest.approx(1, abs=5 * deviation / (1 - share))


def test_numbers_are_left_out_independently_of_their_neighbours_in_a_draw() -> None:
    torch.manual_seed(2)
    kept = (keep_mask(torch.empty(4 * 50_000), 0.5) > 0).double().view(-1, 4)
    correlations = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlations.abs().max() < 5 / 50_000**0.5


@given(
    shape=st.lists(st.integers(0, 5), max_size=3),
    share=st.floats(0, 1),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_mask_has_the_shape_and_two_values(shape: list[int], share: float, dtype: torch.dtype) -> None:
    mask = keep_mask(torch.empty(shape, dtype=dtype), share)
    assert mask.shape == torch.Size(shape)
    assert mask.dtype == dtype
    assert len(mask[mask > 0].unique()) <= 1
    assert mask.isfinite().all()


def test_a_generator_decides_alone() -> None:
    def draw(seed: int) -> torch.Tensor:
        return keep_mask(torch.empty(3, 7), 0.5, torch.Generator().manual_seed(seed))

    assert draw(1).equal(draw(1))
    assert not draw(1).equal(draw(2))


def test_nothing_is_left_out_when_the_training_is_over() -> None:
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_gradient_goes_where_the_numbers_went() -> None:
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.where(y == 0, 0.0, 2.0).double())


def test_all_is_left_out_where_all_should_be() -> None:
    assert Dropout(1.0)(torch.ones(3)).tolist() == [0, 0, 0]
