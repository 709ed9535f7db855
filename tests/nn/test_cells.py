"""The recurrences on the kernel against PyTorch's own layers in double precision: outputs and every gradient."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from polyseme.kernel.library import available, load
from polyseme.nn import cells
from polyseme.nn.cells import run_gru
from polyseme.nn.training_kernel import TrainingKernel, training_kernel
from polyseme.tasks.parts.highway_lstm import HighwayLSTM

needs_kernel = pytest.mark.skipif(training_kernel(torch.empty(0)) is None, reason="the kernel was not compiled")
TOLERANCE = 3e-6  #: relative to the size of a tensor, or to 0.1 if it is smaller
KINDS = (nn.GRU, HighwayLSTM)
Layer = nn.GRU | HighwayLSTM


def run(layer: Layer, x: Tensor) -> Tensor:
    return layer(x, 0.3) if isinstance(layer, HighwayLSTM) else run_gru(layer, x)


def output_and_gradients(layer: Layer, x: Tensor) -> list[Tensor]:
    """Of the layer in its own precision, with the same dropout and the same upstream gradient every time."""
    x = x.to(next(layer.parameters()).dtype).requires_grad_()
    torch.manual_seed(1)
    y = run(layer, x)
    torch.manual_seed(2)
    upstream = torch.randn(y.shape).to(y.dtype)
    return [y.detach(), *torch.autograd.grad(y, [x, *layer.parameters()], upstream)]


def assert_as_exact(expected: Sequence[Tensor], found: Sequence[Tensor]) -> None:
    for one, other in zip(expected, found, strict=True):
        assert one.shape == other.shape and other.dtype == torch.float32
        assert float((one - other).norm()) <= TOLERANCE * max(float(one.norm()), 0.1)


def assert_same_both_ways(layer: Layer, x: Tensor) -> None:
    for value in layer.parameters():
        nn.init.normal_(value, std=0.3)
    found = output_and_gradients(layer, x)
    assert_as_exact(output_and_gradients(layer.double(), x), found)


@needs_kernel
@pytest.mark.parametrize("hidden", [1, 16, 50, 100, 150])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_gradients_are_those_of_pytorch(kind: type[Layer], hidden: int) -> None:
    torch.manual_seed(0)
    assert_same_both_ways(kind(20, hidden), torch.randn(11, 13, 20))


@needs_kernel
@settings(max_examples=40)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 7),
    st.integers(1, 15),
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(0, 100),
)
def test_any_size(kind: type[Layer], steps: int, rows: int, width: int, hidden: int, seed: int) -> None:
    torch.manual_seed(seed)
    assert_same_both_ways(kind(width, hidden), torch.randn(steps, rows, width))


@pytest.mark.parametrize("name", available())
@pytest.mark.parametrize("kind", KINDS)
def test_every_instruction_set(kind: type[Layer], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = TrainingKernel(load(name), torch.float32)
    for module in ("polyseme.nn.cells", "polyseme.tasks.parts.highway_lstm"):
        monkeypatch.setattr(f"{module}.training_kernel", lambda x: kernel if x.dtype == torch.float32 else None)
    torch.manual_seed(0)
    assert_same_both_ways(kind(9, 37), torch.randn(5, 8, 9))


@needs_kernel
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_bits_in_any_batch(kind: type[Layer]) -> None:
    torch.manual_seed(0)
    layer, x = kind(9, 21).eval(), torch.randn(6, 11, 9)
    with torch.no_grad():
        assert torch.equal(run(layer, x)[:, 3:5], run(layer, x[:, 3:5]))


@needs_kernel
@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_and_no_gradient_of_inputs(kind: type[Layer]) -> None:
    layer = kind(9, 21)
    assert run(layer, torch.randn(4, 0, 9)).shape == (4, 0, 21)
    x = torch.randn(4, 3, 9)
    run(layer, x).sum().backward()
    assert x.grad is None and all(value.grad is not None for value in layer.parameters())


@needs_kernel
def test_the_kernel_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.GRU, "forward", None)
    monkeypatch.setattr(HighwayLSTM, "by_pytorch", None)
    for layer in (kind(5, 4) for kind in KINDS):
        assert run(layer, torch.randn(3, 2, 5)).shape == (3, 2, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_pytorch_does_what_the_kernel_cannot(kind: type[Layer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "run_cells", None)
    layer = kind(5, 4).double()
    assert run(layer, torch.randn(3, 2, 5).double()).dtype == torch.float64
