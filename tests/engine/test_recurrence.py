"""The packed LSTM: the numbers of the readable one, with few operations, in memory that does not grow with length."""

from __future__ import annotations

import itertools

import pytest
import torch
from engine.random_models import SMALL, random_model

from polyseme.engine.engine import Engine
from polyseme.engine.plan import CHUNK_SLOTS, plan_batches
from polyseme.engine.recurrence import Direction, Layer, LayerWeights
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLM
from polyseme.nn.config import BiLMConfig
from polyseme.nn.lstm import CellState


def direction(stored: StoredModel, number: int) -> Direction:
    return Direction(stored.config, stored.tensors, number)


@pytest.mark.parametrize("projection", [8, 24])
def test_a_layer_agrees_with_the_readable_lstm(projection: int) -> None:
    config = BiLMConfig(characters=SMALL.characters, cell=24, projection=projection, cell_clip=0.5, projection_clip=0.4)
    stored = random_model(config)
    lengths = [9, 9, 4, 1]
    (batch,) = plan_batches(lengths)
    x = torch.randn(4, 9, projection)
    start = CellState(torch.randn(4, projection), torch.randn(4, 24))
    mask = torch.arange(9)[None, :] < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        expected, final = stored.bilm().directions[0].cells[0](x, mask, start)
    places = torch.from_numpy(batch.places()[0])
    layer = Layer(config, LayerWeights.of(config, stored.tensors, 0, 0))
    layer.start(4, start)
    (chunk,) = batch.chunks(width=96)
    with torch.inference_mode():
        found = layer.run(x[mask][places], chunk)
    torch.testing.assert_close(found, expected[mask][places], rtol=0, atol=1e-5)
    torch.testing.assert_close(layer.state().h, final.h, rtol=0, atol=1e-5)
    torch.testing.assert_close(layer.state().c, final.c, rtol=0, atol=1e-5)


def test_the_sink_gets_every_layer_of_every_slot_in_order() -> None:
    stored = random_model()
    (batch,) = plan_batches([700, 300])
    table, rows = torch.randn(5, 8), torch.randint(0, 5, (1000,))
    seen: list[tuple[int, slice]] = []
    with torch.inference_mode():
        direction(stored, 0).run(batch, rows, table, None, lambda layer, slots, values: seen.append((layer, slots)))
    for number in range(3):
        slots = [place for layer, place in seen if layer == number]
        assert slots[0].start == 0 and slots[-1].stop == 1000
        assert all(before.stop == after.start for before, after in itertools.pairwise(slots))
        assert all(place.stop - place.start <= CHUNK_SLOTS for place in slots)


def test_where_a_chunk_ends_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = random_model()
    (batch,) = plan_batches([40, 31, 7])
    table, rows = torch.randn(5, 8), torch.randint(0, 5, (78,))

    def run() -> torch.Tensor:
        found = torch.zeros(3, 78, 8)
        with torch.inference_mode():
            direction(stored, 1).run(
                batch, rows, table, None, lambda layer, slots, values: found[layer, slots].copy_(values)
            )
        return found

    whole = run()
    monkeypatch.setattr("polyseme.engine.plan.CHUNK_SLOTS", 5)
    torch.testing.assert_close(run(), whole, rtol=0, atol=1e-6)


def test_tanh_written_with_sigmoid_loses_no_more_than_rounding() -> None:
    """Against the network in double precision: as close as the network in single precision is."""
    stored = random_model(BiLMConfig(characters=SMALL.characters, cell=96, projection=16), spread=0.2)
    bilm: BiLM = stored.bilm()
    ids = torch.from_numpy(stored.indexer.batch([["a", "cat", "sat", "on", "the", "mat"] * 5]))
    with torch.no_grad():
        single = bilm(ids).layers[:, 0]
        double = bilm.double()(ids).layers[:, 0]
    found = Engine(stored).encode([["a", "cat", "sat", "on", "the", "mat"] * 5], keep_boundaries=True)[0]
    assert (found - double).abs().max() <= 4 * (single - double).abs().max() + 1e-6
