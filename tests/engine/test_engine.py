"""The engine says what the network says, for every kind of model, from any state, whatever happens on the way."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from typing import Any

import pytest
import torch
from engine.random_models import SMALL, TOKENS, configs, random_model, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.engine.engine import Engine
from polyseme.engine.progress import Progress
from polyseme.engine.recurrence import Direction
from polyseme.engine.twins import Twins
from polyseme.errors import InputError
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLMState
from polyseme.nn.config import BiLMConfig, CharacterConfig

TOLERANCE = 1e-5
MANY = [[TOKENS[(7 * b + n) % len(TOKENS)] for n in range(b % 23)] for b in range(150)]


def reference(
    stored: StoredModel, batch: list[list[str]], state: BiLMState | None = None
) -> tuple[list[Any], BiLMState]:
    """Layers of each sentence with boundaries [L+1, N+2, W], and the final state, by the readable network."""
    with torch.no_grad():
        output = stored.bilm()(torch.from_numpy(stored.indexer.batch(batch)), state)
    return [output.layers[:, b, : len(s) + 2] for b, s in enumerate(batch)], output.state


def _exit_code(child: int, seconds: float) -> int:
    """How a child process ended; one that hangs is ended, and counts as failed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def assert_close(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


@settings(max_examples=60)
@given(configs(), sentences())
def test_it_agrees_with_the_network(config: BiLMConfig, batch: list[list[str]]) -> None:
    stored = random_model(config, spread=0.25)
    expected, _ = reference(stored, batch)
    assert_close(Engine(stored).encode(batch, keep_boundaries=True), expected)


@settings(max_examples=40)
@given(configs(), sentences(), st.integers(0, 2**32 - 1))
def test_it_starts_from_a_given_state_and_tells_the_final_one(
    config: BiLMConfig, batch: list[list[str]], seed: int
) -> None:
    stored = random_model(config, spread=0.25)
    generator = torch.Generator().manual_seed(seed)
    shape = (config.directions, config.layers, len(batch))
    start = BiLMState(
        torch.randn(*shape, config.projection, generator=generator),
        torch.randn(*shape, config.cell, generator=generator),
    )
    expected, expected_final = reference(stored, batch, start)
    found, final = Engine(stored).encode_carrying(batch, start, keep_boundaries=True)
    assert_close(found, expected)
    torch.testing.assert_close(final.h, expected_final.h, rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(final.c, expected_final.c, rtol=0, atol=TOLERANCE)


def test_clips_that_bind() -> None:
    config = BiLMConfig(characters=SMALL.characters, cell=40, projection=16, cell_clip=0.3, projection_clip=0.2)
    stored = random_model(config)
    expected, _ = reference(stored, MANY)
    assert_close(Engine(stored).encode(MANY, keep_boundaries=True), expected)
    first_layer = torch.cat([layers[1] for layers in expected])
    assert (first_layer.abs() == 0.2).float().mean() > 0.1


def test_boundaries_are_dropped_unless_asked_for() -> None:
    stored = random_model()
    engine = Engine(stored)
    with_them, without = engine.encode(MANY, keep_boundaries=True), engine.encode(MANY)
    for kept, dropped, sentence in zip(with_them, without, MANY, strict=True):
        assert dropped.shape == (3, len(sentence), 16)
        assert torch.equal(kept[:, 1:-1], dropped)


def test_nothing_in_nothing_out() -> None:
    engine = Engine(random_model())
    assert engine.encode([]) == []
    layers, state = engine.encode_carrying([])
    assert layers == [] and state.h.shape == (2, 2, 0, 8)
    assert engine.encode([[]])[0].shape == (3, 0, 16)


def test_a_result_holds_no_memory_of_its_batch_and_can_be_trained_on() -> None:
    found = Engine(random_model()).encode(MANY)
    assert all(layers.untyped_storage().nbytes() == 4 * layers.numel() for layers in found)
    weight = torch.ones(16, requires_grad=True)
    (found[5] @ weight).sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("setting", ["default dtype", "matmul precision", "autocast"])
def test_what_a_program_sets_for_its_own_tensors_plays_no_part(setting: str) -> None:
    stored = random_model()
    expected = Engine(stored).encode(MANY)
    precision = torch.get_float32_matmul_precision()
    try:
        if setting == "default dtype":
            torch.set_default_dtype(torch.float64)
        if setting == "matmul precision":
            torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", enabled=setting == "autocast"):
            found = Engine(stored).encode(MANY)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision(precision)
    assert all(torch.equal(a, b) and a.dtype == torch.float32 for a, b in zip(found, expected, strict=True))


def test_without_packed_weights_it_agrees_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.engine.product.can_pack", lambda: False)
    stored = random_model()
    expected, _ = reference(stored, MANY)
    assert_close(Engine(stored).encode(MANY, keep_boundaries=True), expected)


def test_the_cache_changes_nothing_but_the_work() -> None:
    stored = random_model()
    engine, without = Engine(stored, cache_mb=1), Engine(stored, cache_mb=0)
    for _ in range(2):
        assert_close(engine.encode(MANY), without.encode(MANY))
    distinct = len({token for sentence in MANY for token in sentence}) + 2
    assert engine.cache.misses == distinct
    assert engine.cache.hits >= distinct
    assert without.cache.rows <= distinct


class TestThreads:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_the_callers_number_of_threads_comes_back(self, threads: int) -> None:
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(threads)
            engine = Engine(random_model())
            engine.encode(MANY)
            assert torch.get_num_threads() == threads
            with pytest.raises(InputError):
                engine.encode([["a", 7]])  # type: ignore[list-item]
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_second_thread_works_only_where_the_caller_allows_two(
        self, threads: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("polyseme.engine.engine.TWO_THREADS_FROM", 1)
        workers = set()
        run = Direction.run

        def watched(self: Direction, *rest: object) -> None:
            workers.add(threading.get_ident())
            run(self, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(Direction, "run", watched)
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(threads)
            Engine(random_model()).encode(MANY)
        finally:
            torch.set_num_threads(before)
        assert len(workers) == threads

    def test_two_threads_and_one_give_the_same_bits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = Engine(random_model())
        alone = engine.encode(MANY)
        monkeypatch.setattr("polyseme.engine.engine.TWO_THREADS_FROM", 1)
        together = engine.encode(MANY)
        assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))

    def test_calls_from_several_threads_do_not_disturb_each_other(self) -> None:
        engine = Engine(random_model(), cache_mb=0.001)
        expected = engine.encode(MANY)
        wrong: list[int] = []

        def work(shift: int) -> None:
            for number in range(shift, len(MANY), 4):
                batch = MANY[number : number + 9]
                found = engine.encode(batch)
                wrong.extend(n for n, x in enumerate(found) if not torch.equal(x, expected[number + n]))

        workers = [threading.Thread(target=work, args=(shift,)) for shift in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert wrong == []

    def test_an_error_in_the_second_thread_reaches_the_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = Engine(random_model())
        monkeypatch.setattr("polyseme.engine.engine.TWO_THREADS_FROM", 1)

        def fail(*_: object) -> None:
            raise ArithmeticError("backward")

        monkeypatch.setattr(engine._directions[1], "run", fail)
        with pytest.raises(ArithmeticError, match="backward"):
            engine.encode(MANY)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    def test_it_works_on_in_a_forked_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fork keeps only the thread that called it; the worker must be started again."""
        monkeypatch.setattr("polyseme.engine.engine.TWO_THREADS_FROM", 1)
        engine = Engine(random_model())
        expected = engine.encode(MANY[:20])
        child = os.fork()
        if child == 0:
            found = engine.encode(MANY[:20])
            os._exit(0 if all(torch.equal(a, b) for a, b in zip(found, expected, strict=True)) else 1)
        assert _exit_code(child, seconds=60) == 0


class TestOutOfMemory:
    def test_the_batch_is_halved_until_it_fits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stored = random_model()
        expected = Engine(stored).encode(MANY)
        engine, tried = Engine(stored), list[int]()
        run = Direction.run

        def small_device(self: Direction, batch: Any, *rest: Any) -> None:
            tried.append(batch.positions)
            if batch.positions > 200:
                raise torch.OutOfMemoryError("device is full")
            run(self, batch, *rest)

        monkeypatch.setattr(Direction, "run", small_device)
        found = engine.encode(MANY)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        assert max(tried) > 200
        tried.clear()
        engine.encode(MANY)
        assert max(tried) <= 200  # it remembers what fits

    def test_a_single_sentence_that_does_not_fit_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = Engine(random_model())

        def full(*_: object) -> None:
            raise torch.OutOfMemoryError("device is full")

        monkeypatch.setattr(Direction, "run", full)
        monkeypatch.setattr(Twins, "run", full)
        with pytest.raises(torch.OutOfMemoryError):
            engine.encode([["a", "b"], ["c"]])


class TestLongSentences:
    def test_a_long_sentence_is_exact_and_takes_little_more_than_its_output(self) -> None:
        config = BiLMConfig(
            characters=CharacterConfig(alphabet=261, dim=2, filters=((1, 4),), highways=0),
            cell=8,
            projection=4,
            layers=2,
        )
        stored = random_model(config)
        engine = Engine(stored)
        engine.encode([TOKENS * 50])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sentence = [TOKENS[(n * n) % len(TOKENS)] for n in range(20_000)]
        (found,) = engine.encode([sentence])
        assert found.shape == (3, 20_000, 8)
        # A biLM forgets: the middle of the long sentence reads like the middle of a part of it.
        part = engine.encode([sentence[9_000:11_000]])[0]
        torch.testing.assert_close(found[:, 9_900:10_100], part[:, 900:1_100], rtol=0, atol=TOLERANCE)
        grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        assert grown < 20_000 * 3 * 8 * 4 + 64 * 2**20

    @pytest.mark.slow
    def test_a_hundred_thousand_tokens_agree_with_the_network(self) -> None:
        config = BiLMConfig(
            characters=CharacterConfig(alphabet=261, dim=2, filters=((1, 4),), highways=0),
            cell=8,
            projection=4,
            layers=1,
        )
        stored = random_model(config)
        sentence = [TOKENS[(n * n) % len(TOKENS)] for n in range(100_000)]
        expected, _ = reference(stored, [sentence])
        assert_close(Engine(stored).encode([sentence], keep_boundaries=True), expected)


def test_progress_is_told_every_position_once() -> None:
    engine = Engine(random_model())
    progress = Progress(0, "encoding")
    engine.encode(MANY, progress=progress)
    assert progress.done == sum(len(sentence) + 2 for sentence in MANY)
