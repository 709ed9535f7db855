"""The packed LSTM against the readable one: outputs, states and every gradient, in float64, clips binding."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from polyseme.bilm_config import BiLMConfig, WordConfig
from polyseme.nn.lstm import CellState, ProjectedLSTM
from polyseme.nn.lstm_fused import last_rows, rows_before, run_packed

Clips = tuple[float | None, float | None]


def an_lstm(projection: int, cell: int, clips: Clips) -> ProjectedLSTM:
    config = BiLMConfig(
        words=WordConfig(5, projection),
        project_tokens=False,
        cell=cell,
        projection=projection,
        cell_clip=clips[0],
        projection_clip=clips[1],
    )
    lstm = ProjectedLSTM(config).double()
    with torch.no_grad():
        for parameter in lstm.parameters():
            parameter.mul_(2)
        lstm.bias.normal_()
    return lstm


def packed_places(lengths: list[int]) -> tuple[list[int], Tensor, Tensor]:
    """Sizes of the steps, and for each packed row its sentence and position."""
    sizes = [sum(n > t for n in lengths) for t in range(max(lengths))]
    places = [(b, t) for t, n in enumerate(sizes) for b in range(n)]
    return sizes, torch.tensor([b for b, _ in places]), torch.tensor([t for _, t in places])


def both_ways(lstm: ProjectedLSTM, lengths: list[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, states and gradients of the readable and of the packed LSTM."""
    size = lstm.input_weight.shape[0]
    x = torch.randn(len(lengths), max(lengths), size, dtype=torch.double, requires_grad=True)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    start = CellState(
        0.1 * torch.randn(len(lengths), size, dtype=torch.double),
        0.1 * torch.randn(len(lengths), lstm.cell_size, dtype=torch.double),
    )
    sizes, sentence, position = packed_places(lengths)
    upstream = torch.randn(len(sentence), size, dtype=torch.double)
    parameters = list(lstm.parameters())

    y, final = lstm(x, mask, start)
    y = y[sentence, position]
    readable = [y, *final, *torch.autograd.grad(y, [x, *parameters], upstream)]
    readable[3] = readable[3][sentence, position]

    packed_x = x.detach()[sentence, position].requires_grad_()
    y, final = run_packed(lstm, packed_x, sizes, start)
    packed = [y, *final, *torch.autograd.grad(y, [packed_x, *parameters], upstream)]
    return readable, packed


@pytest.mark.parametrize("clips", [(0.3, 0.1), (None, None), (3.0, 3.0), (0.2, None), (None, 0.05)])
@pytest.mark.parametrize("projection", [8, 16], ids=["projected", "not projected"])
def test_outputs_states_and_gradients_are_those_of_the_readable_lstm(projection: int, clips: Clips) -> None:
    torch.manual_seed(0)
    readable, packed = both_ways(an_lstm(projection, 16, clips), [7, 5, 5, 3, 1])
    for one, other in zip(readable, packed, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


def test_the_clips_of_that_test_do_bind() -> None:
    torch.manual_seed(0)
    lstm = an_lstm(8, 16, (0.3, 0.1))
    y, _ = run_packed(lstm, torch.randn(6, 8, dtype=torch.double), [2, 2, 2], lstm.zero_state(2))
    assert 0.1 < (y.abs() == 0.1).double().mean() < 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**31))
def test_any_lengths(lengths: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    readable, packed = both_ways(an_lstm(4, 6, (0.5, 0.2)), sorted(lengths, reverse=True))
    for one, other in zip(readable, packed, strict=True):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=0)


def test_rows_of_the_same_sequence() -> None:
    assert rows_before([3, 3, 1]).tolist() == [0, 1, 2, 3]
    assert last_rows([3, 3, 1]).tolist() == [6, 4, 5]
    assert rows_before([2]).tolist() == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["kernel, where there is one", "PyTorch"])
@pytest.mark.parametrize("projection", [16, 32], ids=["projected", "not projected"])
@pytest.mark.parametrize("trained", [True, False], ids=["after the gradients", "without gradients"])
def test_outputs_are_freed_without_the_garbage_collector(projection: int, trained: bool, dtype: torch.dtype) -> None:
    """A cycle of references would hold the tensors of thousands of steps until the collector comes round."""
    lstm = an_lstm(projection, 32, (3.0, 3.0)).to(dtype)
    x = torch.randn(5, projection, dtype=dtype, requires_grad=True)
    gc.disable()
    try:
        y, _ = run_packed(lstm, x, [3, 2], CellState(torch.zeros_like(x[:3]), torch.zeros(3, 32, dtype=dtype)))
        if trained:
            torch.autograd.grad(y.sum(), [x, *lstm.parameters()])
        freed = weakref.ref(y)
        del y
        assert freed() is None
    finally:
        gc.enable()
