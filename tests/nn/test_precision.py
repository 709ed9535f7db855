"""Under autocast the products of the packed LSTM and of the losses run in half precision, and everything else does not.

bfloat16 products do not exist on every CPU; float16 goes the same way through the code.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from polyseme.bilm_config import BiLMConfig, WordConfig
from polyseme.nn.lstm import ProjectedLSTM
from polyseme.nn.lstm_fused import run_packed
from polyseme.nn.precision import Products
from polyseme.nn.softmax import full_loss, sampled_loss

HALF = 2e-2  # three digits, over some products


def lstm_gradients() -> list[Tensor]:
    torch.manual_seed(0)
    config = BiLMConfig(words=WordConfig(5, 8), project_tokens=False, cell=32, projection=8)
    lstm = ProjectedLSTM(config)
    x = torch.randn(7, 8, requires_grad=True)
    y, _ = run_packed(lstm, x, [3, 3, 1], lstm.zero_state(3))
    with torch.autocast("cpu", enabled=False):
        return [y.detach(), *torch.autograd.grad(y.square().sum(), [x, *lstm.parameters()])]


def loss_gradients(loss: Callable[..., Tensor], *rest: object) -> list[Tensor]:
    torch.manual_seed(0)
    leaves = [torch.randn(*shape).requires_grad_() for shape in ((6, 8), (40, 8), (40,))]
    value = loss(*leaves, torch.arange(6), *rest)
    with torch.autocast("cpu", enabled=False):
        return [value.detach(), *torch.autograd.grad(value, leaves)]


FUNCTIONS = {
    "lstm": lstm_gradients,
    "full": lambda: loss_gradients(full_loss),
    "sampled": lambda: loss_gradients(sampled_loss, torch.arange(10, 40), (torch.zeros(6), torch.zeros(30))),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_are_float32_and_near_those_of_full_precision(function: Callable[[], list[Tensor]]) -> None:
    exact = function()
    with torch.autocast("cpu", torch.float16):
        lowered = function()
    for one, other in zip(exact, lowered, strict=True):
        assert other.dtype == torch.float32
        assert (one - other).norm() <= HALF * one.norm()
    assert any(not torch.equal(one, other) for one, other in zip(exact, lowered, strict=True))


def test_without_autocast_the_products_are_the_plain_ones() -> None:
    a, b, bias = torch.randn(5, 7), torch.randn(7, 3), torch.randn(3)
    products = Products.of(a)
    total = torch.ones(5, 3)
    products.add(total, a, b)
    assert torch.equal(products.times(a, b), a @ b)
    assert torch.equal(products.plus(bias, a, b), torch.addmm(bias, a, b))
    assert torch.equal(total, torch.addmm(torch.ones(5, 3), a, b))


def test_double_precision_stays_double() -> None:
    with torch.autocast("cpu", torch.float16):
        assert Products.of(torch.randn(2, 2, dtype=torch.float64)).dtype == torch.float64
