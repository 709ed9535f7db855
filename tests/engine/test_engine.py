"""The engine says what the network says, for every kind of model, from any state, whatever happens on the way."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.command_line import PATIENCE, signals
from helpers.random_models import SMALL, TOKENS, configs, random_model, sentences
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.embed.estimate import peak_memory
from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.engine import Engine
from polyseme.errors import ConfigError, InputError
from polyseme.formats.model import StoredModel
from polyseme.jobs.progress import Work
from polyseme.nn.bilm import BiLM, BiLMState

TOLERANCE = 1e-5
#: Large enough that a call can be interrupted.
LARGE = BiLMConfig(characters=SMALL.characters, cell=4096, projection=64, layers=1)
MANY = [[TOKENS[(7 * b + n) % len(TOKENS)] for n in range(b % 23)] for b in range(150)]


def reference(
    stored: StoredModel, batch: list[list[str]], state: ReadingState | None = None
) -> tuple[list[Any], ReadingState]:
    """Layers of each sentence with boundaries [L+1, N+2, W], and the final state, by the readable network in float64:
    so that differences are the engine's."""
    before = None if state is None else BiLMState(*(torch.from_numpy(part).double() for part in (state.h, state.c)))
    with torch.no_grad():
        output = BiLM.of(stored).double()(torch.from_numpy(stored.indexer.batch(batch)), before)
    after = ReadingState(output.state.h.float().numpy(), output.state.c.float().numpy())
    return [output.layers[:, b, : len(s) + 2].float().numpy() for b, s in enumerate(batch)], after


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


def assert_close(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE)


def assert_same(found: list[Any], expected: list[Any]) -> None:
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def random_state(config: BiLMConfig, sentences: int, seed: int) -> ReadingState:
    rng = np.random.default_rng(seed)
    shape = (config.directions, config.layers, sentences)
    h, c = (rng.standard_normal((*shape, size), np.float32) for size in (config.projection, config.cell))
    return ReadingState(h, c)


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
    start = random_state(config, len(batch), seed)
    expected, expected_final = reference(stored, batch, start)
    found, final = Engine(stored).encode_carrying(batch, start, keep_boundaries=True)
    assert_close(found, expected)
    np.testing.assert_allclose(final.h, expected_final.h, rtol=0, atol=TOLERANCE)
    # Cells without a clip grow with the steps, and so does what a float can tell of them.
    np.testing.assert_allclose(final.c, expected_final.c, rtol=TOLERANCE, atol=TOLERANCE)


def test_clips_that_bind() -> None:
    config = BiLMConfig(characters=SMALL.characters, cell=40, projection=16, cell_clip=0.3, projection_clip=0.2)
    stored = random_model(config)
    expected, _ = reference(stored, MANY)
    assert_close(Engine(stored).encode(MANY, keep_boundaries=True), expected)
    first_layer = np.concatenate([layers[1] for layers in expected])
    assert (np.abs(first_layer) == np.float32(0.2)).mean() > 0.1


def test_boundaries_are_dropped_unless_asked_for() -> None:
    stored = random_model()
    engine = Engine(stored)
    with_them, without = engine.encode(MANY, keep_boundaries=True), engine.encode(MANY)
    for kept, dropped, sentence in zip(with_them, without, MANY, strict=True):
        assert dropped.shape == (3, len(sentence), 16)
        assert np.array_equal(kept[:, 1:-1], dropped)


def test_nothing_in_nothing_out() -> None:
    engine = Engine(random_model())
    assert engine.encode([]) == []
    layers, state = engine.encode_carrying([])
    assert layers == [] and state.h.shape == (2, 2, 0, 8)
    assert engine.encode([[]])[0].shape == (3, 0, 16)


def test_a_result_holds_no_memory_of_its_batch() -> None:
    assert all(layers.base is None for layers in Engine(random_model()).encode(MANY))


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
    @pytest.mark.parametrize("threads", [2, 3, 9])
    def test_more_threads_than_cores_give_the_same_bits(self, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("polyseme.engine.engine.WORTH_THREADS", 0)
        stored = random_model()
        alone = Engine(stored, threads=1).encode(MANY)
        for _ in range(5):
            assert_same(Engine(stored, threads=threads).encode(MANY), alone)

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_so_many_threads_work_as_were_asked_for(self, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("polyseme.engine.engine.WORTH_THREADS", 0)
        engine = Engine(random_model(), threads=threads)
        assert engine.threads == threads
        together, numbers = threading.Barrier(threads), itertools.count()

        def read(reading: Any) -> Any:
            if next(numbers) < threads:
                together.wait(timeout=PATIENCE)  # nobody goes on before all are here
            for number in reading.batch.sentences:
                reading.layers[number][...] = 0
            yield

        for direction in engine._directions:
            monkeypatch.setattr(direction, "read", read)
        engine.encode([["a"]] * (20 * threads))

    @pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
    def test_a_number_of_threads_that_makes_no_sense(self, threads: Any) -> None:
        with pytest.raises(ConfigError, match="a whole number of at least 1"):
            Engine(random_model(), threads=threads)

    def test_calls_from_several_threads_do_not_disturb_each_other(self) -> None:
        engine = Engine(random_model(), cache_mb=0.001)
        expected = engine.encode(MANY)
        wrong: list[int] = []

        def work(shift: int) -> None:
            for number in range(shift, len(MANY), 4):
                batch = MANY[number : number + 9]
                found = engine.encode(batch)
                wrong.extend(n for n, x in enumerate(found) if not np.array_equal(x, expected[number + n]))

        workers = [threading.Thread(target=work, args=(shift,)) for shift in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert wrong == []

    def test_an_error_in_another_thread_reaches_the_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("polyseme.engine.engine.WORTH_THREADS", 0)
        engine = Engine(random_model(), threads=2)

        def fail(*_: object) -> Any:
            yield
            raise ArithmeticError("backward")

        monkeypatch.setattr(engine._directions[1], "read", fail)
        with pytest.raises(ArithmeticError, match="backward"):
            engine.encode(MANY)

    def test_a_wrong_token_is_an_error_and_the_next_call_works(self) -> None:
        engine = Engine(random_model(), threads=2)
        with pytest.raises(InputError):
            engine.encode([["a", 7]])  # type: ignore[list-item]
        assert engine.encode([["a"]])[0].shape == (3, 1, 16)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    def test_it_works_on_in_a_forked_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fork keeps only the thread that called it; the others must be started again."""
        monkeypatch.setattr("polyseme.engine.engine.WORTH_THREADS", 0)
        engine = Engine(random_model(), threads=2)
        expected = engine.encode(MANY[:20])
        child = os.fork()
        if child == 0:
            found = engine.encode(MANY[:20])
            os._exit(0 if all(map(np.array_equal, found, expected)) else 1)
        assert _exit_code(child, seconds=PATIENCE) == 0

    @signals
    @pytest.mark.parametrize("threads", [1, 2])
    def test_ctrl_c_ends_a_long_call_at_once(self, threads: int) -> None:
        """A sentence that would take minutes, as a program that is interrupted while it reads."""
        engine = Engine(random_model(LARGE), threads=threads)
        engine.encode([["the"]])
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            engine.encode([["the", "cat"] * 200_000] * 2)
        assert time.monotonic() - begun < 20
        assert engine.encode([["the"]])[0].shape == (2, 1, 128)


def small_model(layers: int) -> StoredModel:
    characters = CharacterConfig(alphabet=261, dim=2, filters=((1, 4),), highways=0)
    return random_model(BiLMConfig(characters=characters, cell=8, projection=4, layers=layers))


class TestLongSentences:
    def test_a_long_sentence_is_exact_and_takes_little_more_than_its_output(self) -> None:
        engine = Engine(small_model(layers=2))
        engine.encode([TOKENS * 50])
        before = peak_memory()
        sentence = [TOKENS[(n * n) % len(TOKENS)] for n in range(20_000)]
        (found,) = engine.encode([sentence])
        assert found.shape == (3, 20_000, 8)
        # A biLM forgets: the middle of the long sentence reads like the middle of a part of it.
        part = engine.encode([sentence[9_000:11_000]])[0]
        np.testing.assert_allclose(found[:, 9_900:10_100], part[:, 900:1_100], rtol=0, atol=TOLERANCE)
        assert peak_memory() - before < 20_000 * 3 * 8 * 4 + 64 * 2**20

    @pytest.mark.slow
    def test_a_hundred_thousand_tokens_agree_with_the_network(self) -> None:
        stored = small_model(layers=1)
        sentence = [TOKENS[(n * n) % len(TOKENS)] for n in range(100_000)]
        expected, _ = reference(stored, [sentence])
        assert_close(Engine(stored).encode([sentence], keep_boundaries=True), expected)


def test_progress_is_told_every_position_once() -> None:
    work = Work("encoding", None, lambda progress: None)
    engine = Engine(random_model())
    engine.encode(MANY, progress=work)
    assert work.done == sum(len(sentence) + 2 for sentence in MANY)
