"""The packed LSTM, in the kernel and on numpy: the numbers of the readable one, in memory that does not grow."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.kernel_libraries import same_bits
from helpers.random_models import SMALL, random_model
from polyseme.bilm_config import BiLMConfig
from polyseme.engine.bilm_reader import ReadingJob, ReadingRequest, ReadingState, plan_batches
from polyseme.engine.compiled import CompiledDirection, output_factor
from polyseme.engine.engine import Engine
from polyseme.engine.recurrence import Direction, chunks
from polyseme.engine.weights import PRECISIONS, Precision, layer_weights
from polyseme.formats.model import StoredModel
from polyseme.kernel.library import Library, available, load
from polyseme.nn.bilm import BiLM

#: None: numpy
LIBRARIES: list[Library | None] = [None, *map(load, available())]
every_path = pytest.mark.parametrize(
    "library", LIBRARIES, ids=lambda library: library.instruction_set if library else "numpy"
)

Layers = list[Any]


def read(
    library: Library | None,
    stored: StoredModel,
    lengths: list[int],
    direction: int = 0,
    *,
    precision: Precision = "float32",
    start: ReadingState | None = None,
    keep_boundaries: bool = True,
) -> tuple[Layers, ReadingState, Any, Any]:
    """One direction over sentences of random tokens: their layers, final states, tokens and table."""
    config, rng = stored.config, np.random.default_rng(len(lengths))
    weights = [layer_weights(config, stored.tensors, direction, layer) for layer in range(config.layers)]
    reader: Any
    if library is None:
        reader = Direction(config, weights, precision)
    else:
        reader = CompiledDirection(library, config, weights, precision)
    table = rng.standard_normal((7, config.projection), np.float32)
    tokens = [rng.integers(0, 7, length) for length in lengths]
    rows, begins = np.concatenate(tokens), list(accumulate(lengths, initial=0))
    kept = [length if keep_boundaries else length - 2 for length in lengths]
    layers = [np.full((config.layers + 1, count, config.width), np.nan, np.float32) for count in kept]
    final = ReadingState.zero(config, len(lengths))
    call = ReadingRequest([], start, final, keep_boundaries, None)
    for batch in plan_batches(lengths):
        for _ in reader.read(ReadingJob(batch, direction, rows, begins, table, layers, call)):
            pass
    size = config.projection
    mine = [one[:, :, direction * size : (direction + 1) * size] for one in layers]
    return mine, final, tokens, table


def expected(
    stored: StoredModel, tokens: Any, table: Any, direction: int, start: ReadingState | None
) -> tuple[Layers, list[Any], list[Any]]:
    """The same by the readable network, sentence by sentence."""
    stack = BiLM.of(stored).directions[direction]
    layers, hs, cs = [], [], []
    for number, rows in enumerate(tokens):
        order = rows[::-1].copy() if direction else rows
        x = torch.from_numpy(table[order])[None]  # [1, T, D]
        mask = torch.ones(1, len(rows), dtype=torch.bool)
        states = [cell.zero_state(1) for cell in stack.cells]
        if start is not None:
            both = zip(start.h[direction, :, number], start.c[direction, :, number], strict=True)
            states = [type(states[0])(torch.from_numpy(h)[None], torch.from_numpy(c)[None]) for h, c in both]
        with torch.no_grad():
            outputs, finals = stack(x, mask, states)
        found = np.concatenate([x.numpy(), *(output.numpy() for output in outputs)])  # [L+1, T, D]
        layers.append(found[:, ::-1] if direction else found)
        hs.append([final.h[0].numpy() for final in finals])
        cs.append([final.c[0].numpy() for final in finals])
    return layers, hs, cs


@st.composite
def networks(draw: st.DrawFn) -> BiLMConfig:
    size = draw(st.sampled_from((1, 3, 8, 16, 33)))
    clip = st.none() | st.floats(0.05, 1)
    return replace(
        SMALL,
        projection=size,
        cell=size + draw(st.sampled_from((0, 1, 16, 50))),
        layers=draw(st.integers(1, 3)),
        cell_clip=draw(clip),
        projection_clip=draw(clip),
        skip_connections=draw(st.booleans()),
    )


@every_path
@settings(max_examples=30)
@given(
    networks(), st.lists(st.integers(2, 40), min_size=1, max_size=20), st.integers(0, 1), st.booleans(), st.booleans()
)
def test_it_agrees_with_the_readable_lstm(
    library: Library | None, config: BiLMConfig, lengths: list[int], direction: int, started: bool, keep: bool
) -> None:
    stored = random_model(config, spread=0.15)
    rng, shape = np.random.default_rng(1), (2, config.layers, len(lengths))
    start = None
    if started:
        h, c = (rng.standard_normal((*shape, size), np.float32) for size in (config.projection, config.cell))
        start = ReadingState(h, c)
    found, final, tokens, table = read(library, stored, lengths, direction, start=start, keep_boundaries=keep)
    layers, hs, cs = expected(stored, tokens, table, direction, start)
    for one, other in zip(found, layers, strict=True):
        np.testing.assert_allclose(one, other if keep else other[:, 1:-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(final.h[direction].swapaxes(0, 1), hs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(final.c[direction].swapaxes(0, 1), cs, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(len(same_bits()) < 2, reason="only one library with fused multiply-add can run here")
@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=20)
@given(networks(), st.lists(st.integers(2, 30), min_size=1, max_size=30))
def test_all_instruction_sets_give_the_same_bits(precision: Precision, config: BiLMConfig, lengths: list[int]) -> None:
    stored = random_model(config)
    best, *others = (read(library, stored, lengths, precision=precision)[0] for library in reversed(same_bits()))
    for other in others:
        assert all(map(np.array_equal, best, other))


@every_path
@pytest.mark.parametrize(("precision", "tolerance"), [("float16", 2e-3), ("int8", 0.15)])
def test_fewer_bits_are_near(library: Library | None, precision: Precision, tolerance: float) -> None:
    stored = random_model(replace(SMALL, cell=100, projection=40), spread=0.15)
    full = np.concatenate(read(library, stored, [30] * 9)[0], axis=1)
    fewer = np.concatenate(read(library, stored, [30] * 9, precision=precision)[0], axis=1)
    assert 0 < np.abs(fewer - full).max() < tolerance
    cosines = (full * fewer).sum(axis=2) / np.linalg.norm(full, axis=2) / np.linalg.norm(fewer, axis=2)
    assert cosines.min() > 0.999


@every_path
def test_weights_that_fit_float16_lose_nothing(library: Library | None) -> None:
    stored = random_model(replace(SMALL, cell=100, projection=40))
    halves = {name: tensor.astype(np.float16).astype(np.float32) for name, tensor in stored.tensors.items()}
    exact = StoredModel(stored.config, halves, stored.indexer)
    full, half = (read(library, exact, [9, 5], precision=precision)[0] for precision in PRECISIONS[:2])
    assert all(map(np.array_equal, full, half))


def test_no_sum_of_rounded_outputs_can_overflow() -> None:
    for cell in (1, 16, 17, 512, 1000, 1024, 4096, 100_000):
        filled = -(-cell // 16) * 16
        assert filled * 127 * output_factor(cell) < 2**31
        assert output_factor(cell) <= 2**14


@every_path
def test_where_a_chunk_ends_makes_no_difference(library: Library | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that is read in many chunks, and its first part, which is read in one."""
    stored = random_model(replace(SMALL, bidirectional=False))
    found, _, tokens, table = read(library, stored, [700, 300, 2])
    layers, _, _ = expected(stored, tokens, table, 0, None)
    for one, other in zip(found, layers, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    monkeypatch.setattr("polyseme.engine.recurrence.CHUNK_SLOTS", 7)
    assert all(sum(chunk) <= 7 for chunk in chunks(plan_batches([700, 300, 2])[0]))


def test_it_is_as_exact_as_the_network_in_single_precision() -> None:
    stored = random_model(BiLMConfig(characters=SMALL.characters, cell=96, projection=16), spread=0.2)
    bilm: BiLM = BiLM.of(stored)
    ids = torch.from_numpy(stored.indexer.batch([["a", "cat", "sat", "on", "the", "mat"] * 5]))
    with torch.no_grad():
        single = bilm(ids).layers[:, 0].numpy()
        double = bilm.double()(ids).layers[:, 0].numpy()
    found = Engine(stored).encode([["a", "cat", "sat", "on", "the", "mat"] * 5], keep_boundaries=True)[0]
    assert np.abs(found - double).max() <= 4 * np.abs(single - double).max() + 1e-6
