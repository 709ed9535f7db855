"""One projected LSTM layer: its gradients, its clips and its padding. (Its numbers: test_bilm.py.)"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from polyseme.bilm_config import BiLMConfig, WordConfig
from polyseme.nn.lstm import CellState, ProjectedLSTM

CONFIG = BiLMConfig(words=WordConfig(size=1, dim=3), cell=5, projection=3, cell_clip=None, projection_clip=None)
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])


def random_lstm(config: BiLMConfig, seed: int = 3) -> ProjectedLSTM:
    torch.manual_seed(seed)
    lstm = ProjectedLSTM(config).double()
    for parameter in lstm.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    return lstm


def random_input(seed: int = 4) -> tuple[torch.Tensor, CellState]:
    torch.manual_seed(seed)
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    return x, CellState(0.1 * torch.randn(2, 3, dtype=torch.float64), 0.1 * torch.randn(2, 5, dtype=torch.float64))


def before_clipping(lstm: ProjectedLSTM, x: torch.Tensor, start: CellState) -> tuple[torch.Tensor, torch.Tensor]:
    """Cells and outputs at every position of the first sentence as they are just before each clip."""
    clips, state, cells, outputs = (lstm.cell_clip, lstm.projection_clip), start, [], []
    for t in range(x.shape[1]):
        gates = x[:, t] @ lstm.input_weight + lstm.full_bias()
        lstm.cell_clip, lstm.projection_clip = None, None
        cells.append(lstm.step(gates, state).c)
        lstm.cell_clip = clips[0]
        outputs.append(lstm.step(gates, state).h)
        lstm.projection_clip = clips[1]
        state = lstm.step(gates, state)
    return torch.stack(cells), torch.stack(outputs)


@pytest.mark.parametrize(
    "clips", [(None, None), (0.4, None), (None, 0.3), (0.4, 0.3)], ids=["none", "cell", "projection", "both"]
)
@pytest.mark.parametrize("cell", [5, 3], ids=["projection", "no projection"])
def test_gradients(clips: tuple[float | None, float | None], cell: int) -> None:
    """Against differences, in float64: every parameter, the input and the start state; padding in the second row."""
    config = replace(CONFIG, cell=cell, cell_clip=clips[0], projection_clip=clips[1])
    lstm = random_lstm(config)
    x, start = random_input()
    start = CellState(start.h, start.c[:, :cell])
    cells, outputs = (values.detach() for values in before_clipping(lstm, x, start))
    for values, clip in ((cells, clips[0]), (outputs, clips[1] if cell == 5 else None)):
        if clip is not None:
            assert 0.1 < (values.abs() > clip).double().mean() < 0.9  # it binds, and not everywhere
            assert (values.abs() - clip).abs().min() > 1e-4  # away from the kink, where a difference means nothing
    names, parameters = zip(*lstm.named_parameters(), strict=True)

    def run(x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, final = torch.func.functional_call(lstm, dict(zip(names, values, strict=True)), (x, MASK, CellState(h, c)))
        return y, final.h, final.c

    inputs = [t.detach().clone().requires_grad_() for t in (x, *start, *parameters)]
    assert torch.autograd.gradcheck(run, inputs, eps=1e-6, atol=1e-7)


def test_where_a_clip_binds_no_gradient_passes() -> None:
    lstm = random_lstm(replace(CONFIG, cell_clip=1e-6, projection_clip=None))
    x, start = random_input()
    x.requires_grad_()
    start.c.requires_grad_()
    _, final = lstm(x, MASK, start)
    gradients = torch.autograd.grad(final.c.sum(), [x, start.c])
    assert all(not gradient.any() for gradient in gradients)

    lstm = random_lstm(replace(CONFIG, cell_clip=None, projection_clip=1e-6))
    y, _ = lstm(x, MASK, start)
    assert not torch.autograd.grad(y.sum(), x)[0].any()


def test_clipped_values_are_what_is_carried() -> None:
    lstm = random_lstm(replace(CONFIG, cell_clip=0.3, projection_clip=0.2))
    x, start = random_input()
    y, final = lstm(x, MASK, start)
    assert final.c.abs().max().item() == pytest.approx(0.3)
    assert y.abs().max().item() == pytest.approx(0.2)
    assert torch.equal(final.h[0], y[0, 3])
    assert torch.equal(final.h[1], y[1, 1])


def test_without_a_projection_its_clip_is_ignored() -> None:
    lstm = random_lstm(replace(CONFIG, cell=3, projection_clip=0.001))
    assert lstm.projection is None
    x, start = random_input()
    y, _ = lstm(x, MASK, CellState(start.h, start.c[:, :3]))
    assert y.abs().max() > 0.01


def test_padding_gives_zeros_and_keeps_the_state() -> None:
    lstm = random_lstm(CONFIG)
    x, start = random_input()
    y, final = lstm(x, MASK, start)
    short, short_final = lstm(x[1:, :2], MASK[1:, :2], CellState(start.h[1:], start.c[1:]))
    assert not y[1, 2:].any()
    torch.testing.assert_close(y[1:, :2], short, atol=1e-14, rtol=0)
    torch.testing.assert_close(final.c[1:], short_final.c, atol=1e-14, rtol=0)


def test_reading_in_two_calls_is_reading_in_one() -> None:
    lstm = random_lstm(replace(CONFIG, cell_clip=0.4, projection_clip=0.3))
    x, start = random_input()
    mask = torch.ones(2, 4, dtype=torch.bool)
    whole, end = lstm(x, mask, start)
    first, between = lstm(x[:, :1], mask[:, :1], start)
    second, last = lstm(x[:, 1:], mask[:, 1:], between)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, atol=1e-14, rtol=0)
    torch.testing.assert_close(last.h, end.h, atol=1e-14, rtol=0)


def test_no_position_at_all() -> None:
    lstm = ProjectedLSTM(CONFIG)
    start = CellState(torch.randn(2, 3), torch.randn(2, 5))
    y, final = lstm(torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.bool), start)
    assert y.shape == (2, 0, 3)
    assert torch.equal(final.h, start.h)
    assert torch.equal(final.c, start.c)


def test_the_forget_gate_starts_open() -> None:
    """The constant 1 is no part of the stored bias: a new layer has bias 0 and forgets by σ(1)."""
    lstm = ProjectedLSTM(CONFIG)
    assert not lstm.bias.any()
    assert lstm.full_bias().view(4, 5).tolist() == [[0.0] * 5, [1.0] * 5, [0.0] * 5, [0.0] * 5]
    torch.nn.init.zeros_(lstm.input_weight)
    torch.nn.init.zeros_(lstm.state_weight)
    cell = torch.rand(1, 5)
    _, final = lstm(torch.zeros(1, 1, 3), torch.ones(1, 1, dtype=torch.bool), CellState(torch.zeros(1, 3), cell))
    torch.testing.assert_close(final.c, cell * torch.sigmoid(torch.tensor(1.0)))


def test_initial_values_are_glorot_uniform_over_the_whole_kernel() -> None:
    """The original draws [input; state] × gates [2D, 4H] as one matrix, and the projection [H, D] as another."""
    config = replace(CONFIG, words=WordConfig(1, 40), cell=60, projection=40)
    lstm = ProjectedLSTM(config)
    bound = (6 / (2 * 40 + 4 * 60)) ** 0.5
    for weight, limit in ((lstm.input_weight, bound), (lstm.state_weight, bound), (lstm.projection, (6 / 100) ** 0.5)):
        assert weight is not None
        assert weight.abs().max() <= limit
        assert weight.std().item() == pytest.approx(limit / 3**0.5, rel=0.05)
        assert weight.mean().item() == pytest.approx(0, abs=0.05 * limit)
