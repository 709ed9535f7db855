"""The highway LSTM against its formula, one sentence at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from polyseme.tasks.parts.highway_lstm import AlternatingHighwayLSTM, HighwayLSTM


def by_formula(layer: HighwayLSTM, x: Tensor) -> Tensor:
    """[N, width] of one sentence → [N, hidden], gate by gate as the paper writes it."""
    size = layer.hidden
    weights = layer.input.weight.chunk(6)
    biases = layer.input.bias.chunk(6)
    states = layer.state.chunk(5, dim=1)
    h = c = torch.zeros(size)
    out = []
    for step in x:
        i, f, o, r = (torch.sigmoid(weights[k] @ step + h @ states[k] + biases[k]) for k in range(4))
        g = torch.tanh(weights[4] @ step + h @ states[4] + biases[4])
        c = i * g + f * c
        h = r * (o * torch.tanh(c)) + (1 - r) * (weights[5] @ step + biases[5])
        out.append(h)
    return torch.stack(out)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_layers_read_by_turns_from_left_and_from_right_and_never_padding(layers: int) -> None:
    torch.manual_seed(0)
    lstm = AlternatingHighwayLSTM(4, 3, layers, dropout=0.3).eval()
    lengths = torch.tensor([5, 1, 3])
    x = torch.randn(3, 5, 4)
    found = lstm(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        y = x[row, :length]
        for number, layer in enumerate(lstm.layers):
            assert isinstance(layer, HighwayLSTM)
            y = by_formula(layer, y) if number % 2 == 0 else by_formula(layer, y.flip(0)).flip(0)
        assert torch.allclose(found[row, :length], y, atol=1e-5)
        assert not found[row, length:].any()


def test_dropout_of_states_acts_in_training_only() -> None:
    torch.manual_seed(0)
    lstm = AlternatingHighwayLSTM(4, 8, 2, dropout=0.5)
    x, lengths = torch.randn(1, 4, 4), torch.tensor([4])
    assert not torch.equal(lstm(x, lengths), lstm(x, lengths))
    lstm.eval()
    assert torch.equal(lstm(x, lengths), lstm(x, lengths))


def test_a_new_layer_keeps_the_size_of_what_it_reads_and_remembers() -> None:
    layer = HighwayLSTM(7, 5)
    for gate in (*layer.state.chunk(5, dim=1), *layer.input.weight.chunk(6)):
        torch.testing.assert_close(gate @ gate.T, torch.eye(5), atol=1e-5, rtol=0)
    assert layer.input.bias.tolist() == [0.0] * 5 + [1.0] * 5 + [0.0] * 20  # the gate to forget begins open
