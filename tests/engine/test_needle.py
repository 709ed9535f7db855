"""Same sentence, same bits: alone, in any batch, in any order, after any calls, with any cache."""

from __future__ import annotations

import random

import pytest
import torch
from engine.random_models import random_model

from polyseme.engine.engine import Engine
from polyseme.engine.product import can_pack
from polyseme.nn.bilm import BiLMState
from polyseme.nn.config import BiLMConfig, CharacterConfig

pytestmark = pytest.mark.skipif(not can_pack(), reason="torch has no oneDNN here, so vectors agree to 1e-5 only")

BYTES = CharacterConfig(alphabet=261, filters=((1, 16), (2, 16), (3, 32)), highways=1)
ODD = CharacterConfig(alphabet=261, dim=5, filters=((1, 5), (2, 7), (3, 9)), highways=2, max_characters=12)
SMALL_MODELS = {
    "sizes that fit vectors": BiLMConfig(characters=BYTES, cell=64, projection=32),
    "sizes that fit nothing": BiLMConfig(characters=ODD, cell=37, projection=11, layers=3),
    "tanh": BiLMConfig(
        characters=CharacterConfig(alphabet=261, filters=((1, 5), (2, 70)), activation="tanh"), cell=100, projection=50
    ),
    "no projections": BiLMConfig(characters=ODD, cell=21, projection=21, project_tokens=False, layers=1),
    "a cell of more than 1,024": BiLMConfig(characters=BYTES, cell=1100, projection=24, layers=1),
}
COMPACT = BiLMConfig(
    characters=CharacterConfig(alphabet=261, filters=((1, 32), (2, 32), (3, 64), (4, 128), (5, 256)), highways=1),
    cell=512,
    projection=128,
)


def words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices("abcdefghijéß漢", k=rng.choice((1, 2, 3, 5, 8, 12, 30, 60)))) for _ in range(count)]


def differing_bits(config: BiLMConfig, batchings: int, largest: int, start: BiLMState | None = None) -> int:
    """Numbers of the needle that differ in any of ``batchings`` calls from those it has alone."""
    stored = random_model(config, spread=0.1)
    rng = random.Random(config.cell)
    known = words(rng, 400)
    needle = rng.choices(known, k=23)
    alone = Engine(stored).encode([needle], start.expand(1) if start else None)[0]
    differing = 0
    for number in range(batchings):
        if number % 20 == 0:
            engine = Engine(stored, cache_mb=rng.choice((0, 0.01, 1)))
        longest = rng.choice((2, 20, 60))
        batch = [rng.choices(known, k=rng.randint(0, longest)) for _ in range(rng.randint(0, largest))]
        place = rng.randint(0, len(batch))
        batch.insert(place, needle)
        found = engine.encode(batch, start.expand(len(batch)) if start else None)[place]
        differing += int((found.view(torch.int32) != alone.view(torch.int32)).sum())
    return differing


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_a_hundred_batchings_of_each_small_model(name: str) -> None:
    assert differing_bits(SMALL_MODELS[name], batchings=100, largest=20) == 0


def test_from_a_state_that_is_not_zero() -> None:
    config = SMALL_MODELS["sizes that fit nothing"]
    shape = (2, config.layers, 1)
    start = BiLMState(torch.randn(*shape, config.projection), torch.randn(*shape, config.cell))
    assert differing_bits(config, batchings=20, largest=20, start=start) == 0


def test_batches_on_two_threads() -> None:
    """With enough rows each direction has its own thread."""
    assert differing_bits(COMPACT, batchings=8, largest=70) == 0


@pytest.mark.slow
def test_five_hundred_batchings_of_the_compact_model() -> None:
    assert differing_bits(COMPACT, batchings=500, largest=150) == 0


def test_the_callers_threads_play_no_part() -> None:
    stored = random_model(SMALL_MODELS["sizes that fit vectors"], spread=0.1)
    batch = [words(random.Random(n), n) for n in range(30)]
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            found.append(Engine(stored).encode(batch))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
