"""Same sentence, same bits: alone, in any batch, in any order, after any calls, with any cache, on any threads."""

from __future__ import annotations

import random

import numpy as np
import pytest

from helpers.random_models import random_model
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.engine import Engine
from polyseme.engine.weights import PRECISIONS, Precision

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


def differing(
    config: BiLMConfig,
    batchings: int,
    largest: int,
    start: ReadingState | None = None,
    precision: Precision = "float32",
) -> int:
    """Numbers of the needle that differ in any of ``batchings`` calls from those it has alone."""
    stored = random_model(config, spread=0.1)
    rng = random.Random(config.cell)
    known = words(rng, 400)
    needle = rng.choices(known, k=23)
    alone = Engine(stored, precision=precision).encode([needle], start.expand(1) if start else None)[0]
    differing = 0
    for number in range(batchings):
        if number % 20 == 0:
            threads, cache = rng.choice((1, 2, 5)), rng.choice((0, 0.01, 1))
            engine = Engine(stored, cache_mb=cache, threads=threads, precision=precision)
        longest = rng.choice((2, 20, 60))
        batch = [rng.choices(known, k=rng.randint(0, longest)) for _ in range(rng.randint(0, largest))]
        place = rng.randint(0, len(batch))
        batch.insert(place, needle)
        found = engine.encode(batch, start.expand(len(batch)) if start else None)[place]
        differing += int((found.view(np.int32) != alone.view(np.int32)).sum())
    return differing


@pytest.mark.parametrize("name", SMALL_MODELS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_hundred_batchings_of_each_small_model(name: str, precision: Precision) -> None:
    assert differing(SMALL_MODELS[name], batchings=100, largest=20, precision=precision) == 0


def test_from_a_state_that_is_not_zero() -> None:
    config = SMALL_MODELS["sizes that fit nothing"]
    shape, rng = (2, config.layers, 1), np.random.default_rng(0)
    start = ReadingState(
        rng.standard_normal((*shape, config.projection), np.float32),
        rng.standard_normal((*shape, config.cell), np.float32),
    )
    assert differing(config, batchings=20, largest=20, start=start) == 0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_large_batches_of_the_compact_model(precision: Precision) -> None:
    assert differing(COMPACT, batchings=20, largest=150, precision=precision) == 0


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_five_hundred_batchings_of_the_compact_model(precision: Precision) -> None:
    assert differing(COMPACT, batchings=500, largest=150, precision=precision) == 0
