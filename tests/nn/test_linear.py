"""Products by oneDNN against those of PyTorch in double precision."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from polyseme.nn import linear
from polyseme.nn.linear import Linear, product

needs_onednn = pytest.mark.skipif(linear._ONEDNN is None, reason="this PyTorch was built without oneDNN")
TOLERANCE = 1e-6  #: relative to the size of a tensor


def assert_as_exact(expected: Tensor, found: Tensor) -> None:
    assert expected.shape == found.shape and found.dtype == torch.float32
    assert float((expected - found).norm()) <= TOLERANCE * float(expected.norm())


def matrix(rows: int, columns: int, turned: bool) -> Tensor:
    return torch.randn(columns, rows).t() if turned else torch.randn(rows, columns)


@given(st.integers(0, 40), st.integers(0, 300), st.integers(0, 150), st.booleans(), st.booleans(), st.booleans())
def test_any_size(rows: int, depth: int, columns: int, a_turned: bool, b_turned: bool, biased: bool) -> None:
    torch.manual_seed(rows)
    a, b = matrix(rows, depth, a_turned), matrix(depth, columns, b_turned)
    bias = torch.randn(columns) if biased else None
    expected = a.double() @ b.double() + (0 if bias is None else bias)
    assert_as_exact(expected, product(a, b, bias))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (0, 7), (2, 3, 7), (2, 3, 4, 7)])
def test_a_layer_and_its_gradients(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    layer, x = Linear(7, 5, bias=bias), torch.randn(shape)
    upstream = torch.randn(*shape[:-1], 5)

    def output_and_gradients(dtype: torch.dtype) -> list[Tensor]:
        y = layer.to(dtype)(given := x.to(dtype).requires_grad_())
        return [y.detach(), *torch.autograd.grad(y, [given, *layer.parameters()], upstream.to(dtype))]

    found = output_and_gradients(torch.float32)
    for one, other in zip(output_and_gradients(torch.float64), found, strict=True):
        assert_as_exact(one, other)


@needs_onednn
def test_onednn_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.Linear, "forward", None)
    assert Linear(3, 2)(torch.randn(4, 3)).shape == (4, 2)


def test_pytorch_does_the_work_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_ONEDNN", None)
    layer = Linear(3, 2)
    layer(torch.randn(4, 3)).sum().backward()
    assert layer.weight.grad is not None
    assert product(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)).tolist() == [[4.0] * 4] * 2


def test_a_matrix_with_gaps_is_kept_from_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Tensor:
        raise AssertionError("oneDNN takes seconds for this")

    monkeypatch.setattr(linear, "_ONEDNN", refuse)
    a, b = torch.randn(5, 7), torch.randn(7, 6)[:, :4]
    assert torch.equal(linear.product(a, b), a @ b)
