"""While it trains, BiLM reads packed rows with the fused LSTM: the numbers and gradients of the readable loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.random_models import SMALL, random_model
from polyseme.bilm_config import BiLMConfig
from polyseme.nn import bilm as module
from polyseme.nn.bilm import BiLM, BiLMState, Packing

SENTENCES = [["the", "cat"], [], ["naïve", "日本語", "a", "the"], ["cat"]]
CHANGES: list[dict[str, Any]] = [
    {},
    {"cell_clip": 0.2, "projection_clip": 0.2},
    {"skip_connections": False, "layers": 3},
    {"bidirectional": False},
    {"cell": 8, "projection": 8},
]


def read(bilm: BiLM, ids: torch.Tensor, start: BiLMState | None) -> list[torch.Tensor]:
    """Layers, states, and the gradient of every parameter."""
    bilm.zero_grad()
    output = bilm(ids, start)
    (output.layers * torch.linspace(-1, 1, output.layers.numel()).view_as(output.layers)).sum().backward()
    gradients = [parameter.grad for parameter in bilm.parameters() if parameter.grad is not None]
    return [output.layers, output.state.h, output.state.c, *gradients]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("starts", [False, True])
def test_training_gives_the_numbers_of_the_readable_loop(changes: dict[str, Any], starts: bool) -> None:
    config = BiLMConfig(**{**{name: getattr(SMALL, name) for name in ("characters", "cell", "projection")}, **changes})
    stored = random_model(config)
    ids = torch.from_numpy(stored.indexer.batch(SENTENCES))
    ids = torch.cat([ids, torch.zeros_like(ids[:1])])  # a row where nothing stands at all keeps its state
    bilm = BiLM.of(stored).requires_grad_()
    start = None
    if starts:
        zero = bilm.zero_state(len(ids))
        start = BiLMState(torch.randn_like(zero.h) / 4, torch.randn_like(zero.c) / 4)
    readable, fused = read(bilm.eval(), ids, start), read(bilm.train(), ids, start)
    assert len(readable) == len(fused) == 3 + len(list(bilm.parameters()))
    for expected, found in zip(readable, fused, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("trains", "wants_gradients", "packed"), [(True, True, 2), (True, False, 0), (False, True, 0)])
def test_the_fused_lstm_is_for_training_only(
    trains: bool, wants_gradients: bool, packed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real = module.Direction.read_packed
    monkeypatch.setattr(module.Direction, "read_packed", lambda *given: calls.append(1) or real(*given))
    stored = random_model()
    with torch.set_grad_enabled(wants_gradients):
        BiLM.of(stored).train(trains)(torch.from_numpy(stored.indexer.batch(SENTENCES)))
    assert len(calls) == packed


def test_gradients_through_the_states_are_those_of_the_loop() -> None:
    stored = random_model()
    ids, bilm = torch.from_numpy(stored.indexer.batch(SENTENCES)), BiLM.of(stored).train()
    zero = bilm.zero_state(len(ids))
    start = BiLMState(zero.h.requires_grad_(), zero.c.requires_grad_())
    bilm(ids, start).layers.sum().backward()
    assert start.h.grad is not None
    assert start.h.grad.any()


def test_rows_are_packed_and_come_back() -> None:
    lengths = torch.tensor([2, 0, 3])
    packing = Packing.of(lengths, 4)
    assert packing.sizes == (2, 2, 1)
    assert packing.order.tolist() == [2, 0]
    x = torch.arange(1.0, 13).view(3, 4, 1)
    assert packing.pack(x).flatten().tolist() == [9, 1, 10, 2, 11]
    back = packing.unpack(packing.pack(x), x)
    assert torch.equal(back, x * (torch.arange(4) < lengths[:, None])[:, :, None])


def test_a_batch_without_any_token() -> None:
    bilm = BiLM.of(random_model()).train()
    output = bilm(torch.zeros(2, 3, bilm.config.row_size, dtype=torch.int64))
    assert not output.layers.any()
