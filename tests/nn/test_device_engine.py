"""The network on a device: what the engine says, also on a device that is soon full. The device here is the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from helpers.random_models import TOKENS, random_model
from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.engine import Engine
from polyseme.jobs.progress import Work
from polyseme.nn.device_engine import DeviceEngine

MANY = [[TOKENS[(7 * b + n) % len(TOKENS)] for n in range(b % 23)] for b in range(150)]


def assert_close(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("keep_boundaries", [True, False])
def test_it_says_what_the_engine_says(keep_boundaries: bool) -> None:
    stored = random_model()
    rng = np.random.default_rng(0)
    start = ReadingState(
        rng.standard_normal((2, 2, len(MANY), 8), np.float32), rng.standard_normal((2, 2, len(MANY), 24), np.float32)
    )
    for state in (None, start):
        expected, after = Engine(stored).encode_carrying(MANY, state, keep_boundaries=keep_boundaries)
        found, final = DeviceEngine(stored, "cpu").encode_carrying(MANY, state, keep_boundaries=keep_boundaries)
        assert_close(found, expected)
        assert_close([final.h, final.c], [after.h, after.c])


def test_progress_is_told_every_position_once() -> None:
    work = Work("encoding", None, lambda progress: None)
    DeviceEngine(random_model(), "cpu").encode(MANY, progress=work)
    assert work.done == sum(len(sentence) + 2 for sentence in MANY)


def test_a_batch_is_halved_until_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = random_model()
    engine, tried = DeviceEngine(stored, "cpu"), list[int]()
    run = engine._run_batch

    def small_device(batch: Any, *rest: Any) -> Any:
        tried.append(batch.positions)
        if batch.positions > 200:
            raise torch.OutOfMemoryError("device is full")
        return run(batch, *rest)

    monkeypatch.setattr(engine, "_run_batch", small_device)
    assert_close(engine.encode(MANY), Engine(stored).encode(MANY))
    assert max(tried) > 200
    tried.clear()
    engine.encode(MANY)
    assert max(tried) <= 200  # it remembers what fits


def test_a_single_sentence_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DeviceEngine(random_model(), "cpu")

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("device is full")

    monkeypatch.setattr(engine, "_run_batch", full)
    with pytest.raises(torch.OutOfMemoryError):
        engine.encode([["a", "b"], ["c"]])
