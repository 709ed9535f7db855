"""Cached layers are those of the engine, computed once, shared, bounded, and never needed for a right answer."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.damage import flip_bit
from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.tasks import layer_cache
from polyseme.tasks.layer_cache import LayerCache, default_folder, default_limit, digest

TEXT = [["Ada", "left", "."], ["Bob"], [], ["a", "b", "c", "d", "e"], ["Ada", "left", "."]]


def expected(elmo: Elmo, sentences: list[list[str]]) -> np.ndarray:
    """[L+1, B, N, W] from the engine itself."""
    longest = max(map(len, sentences))
    config = elmo.config
    out = np.zeros((config.layers + 1, len(sentences), longest, config.width), dtype=np.float16)
    for row, encoding in enumerate(elmo.encode_tokens(sentences)):
        out[:, row, : len(sentences[row])] = encoding.layers
    return out


def segments(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_layers_are_those_of_the_engine_filled_or_not(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    cache = LayerCache(elmo, tmp_path)
    np.testing.assert_array_equal(cache.layers(TEXT), expected(elmo, TEXT))
    cache.fill(TEXT)
    assert cache.computed == len(TEXT) + 3, "an empty sentence and one that is there twice cost nothing"
    np.testing.assert_array_equal(cache.layers(TEXT), expected(elmo, TEXT))
    np.testing.assert_array_equal(cache.layers(TEXT, slice(1, 2)), expected(elmo, TEXT)[1:2])


def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    LayerCache(tiny_elmo(), tmp_path).fill(TEXT)
    again = LayerCache(tiny_elmo(), tmp_path)
    again.fill([*TEXT[:2]])
    assert again.computed == 0
    np.testing.assert_array_equal(again.layers(TEXT[:2]), expected(tiny_elmo(), TEXT[:2]))


def test_another_model_has_layers_of_its_own(tmp_path: Path) -> None:
    LayerCache(tiny_elmo(seed=0), tmp_path).fill(TEXT)
    other = LayerCache(tiny_elmo(seed=1), tmp_path)
    other.fill(TEXT)
    np.testing.assert_array_equal(other.layers(TEXT), expected(tiny_elmo(seed=1), TEXT))


def test_it_may_be_deleted_or_damaged_at_any_time(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    cache = LayerCache(elmo, tmp_path)
    cache.fill(TEXT)
    (segment,) = segments(tmp_path)
    whole = segment.read_bytes()
    segment.unlink()
    np.testing.assert_array_equal(cache.layers(TEXT), expected(elmo, TEXT))
    for damaged in (whole[:-2], whole[:10], b"", b"something else"):
        segment.write_bytes(damaged)
        found = LayerCache(elmo, tmp_path)
        np.testing.assert_array_equal(found.layers(TEXT), expected(elmo, TEXT))
        found.fill(TEXT)
        assert segment.read_bytes() == whole, "it is written again"


def test_a_flipped_bit_costs_a_sentence_and_never_the_vectors(tmp_path: Path) -> None:
    """Where it hits a sentence, that one is computed again; where it hits the list of sentences, all are."""
    elmo, sentences = tiny_elmo(), [["Ada", "left", "."], ["Bob"], ["a", "b", "c", "d", "e"]]
    LayerCache(elmo, tmp_path).fill(sentences)
    (segment,) = segments(tmp_path)
    whole, computed = segment.read_bytes(), []
    for seed in range(40):
        flip_bit(segment, seed)
        cache = LayerCache(elmo, tmp_path)
        cache._open_segments({digest(sentence) for sentence in sentences})
        np.testing.assert_array_equal(cache.layers(sentences), expected(elmo, sentences))
        computed.append(cache.computed)
        LayerCache(elmo, tmp_path).fill(sentences)
        assert segment.read_bytes() == whole, "it is written again"
    assert set(computed) == {1, 3}


def test_the_oldest_give_way_and_what_has_no_room_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = tiny_elmo()
    token = 2 * (elmo.config.layers + 1) * elmo.config.width
    monkeypatch.setattr(layer_cache, "SEGMENT_BYTES", 4 * token)
    sentences = [[f"w{i}", "x", "y", "z"] for i in range(6)]
    limit = 4 * (4 * token + 64)  # four segments of one sentence each
    small = LayerCache(elmo, tmp_path, limit=limit)
    assert small.fill(sentences) == pytest.approx(2 / 6)
    assert len(segments(tmp_path)) == 4
    np.testing.assert_array_equal(small.layers(sentences), expected(elmo, sentences))
    others = [[f"v{i}", "x", "y", "z"] for i in range(3)]
    abandoned = segments(tmp_path)[0].with_suffix(".partial")
    abandoned.write_bytes(bytes(100))
    os.utime(abandoned, (0, 0))
    later = LayerCache(elmo, tmp_path, limit=limit)
    assert later.fill(others) == 0
    assert not abandoned.exists(), "what a killed process left is in nobody's way"
    later.computed = 0
    later.layers(others)
    assert later.computed == 0
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= later.limit


def test_what_a_run_uses_is_younger_than_what_it_does_not(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    for text in (TEXT, [["another", "text"]]):
        LayerCache(elmo, tmp_path).fill(text)
    for path in segments(tmp_path):
        os.utime(path, (0, 0))
    LayerCache(elmo, tmp_path).fill(TEXT)
    assert sorted(path.stat().st_mtime > 0 for path in segments(tmp_path)) == [False, True]


@functools.cache
def same_elmo() -> Elmo:
    """Made once in a process: threads that draw weights at the same time disturb each other's seed."""
    return tiny_elmo()


def fill(folder: str) -> int:
    cache = LayerCache(same_elmo(), Path(folder))
    cache.fill([[f"w{i}", "and", "more"] for i in range(300)])
    return cache.computed


@pytest.mark.parametrize(
    "pool",
    [ThreadPoolExecutor, pytest.param(ProcessPoolExecutor, marks=pytest.mark.slow)],
    ids=["threads", "processes"],
)
def test_two_at_once_compute_the_same_text_once(pool: Any, tmp_path: Path) -> None:
    """The lock is one on an open file, so that two threads stand for two processes where seconds count."""
    same_elmo()
    with pool(2) as both:
        computed = sorted(both.map(fill, [str(tmp_path)] * 2))
    assert computed == [0, 300]
    assert len(segments(tmp_path)) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=st.lists(st.text(max_size=4), max_size=4), b=st.lists(st.text(max_size=4), max_size=4))
def test_different_tokens_have_different_keys(a: list[str], b: list[str]) -> None:
    if "\0" not in "".join(a + b):
        assert (digest(a) == digest(b)) == (a == b or {tuple(a), tuple(b)} == {(), ("",)})


def test_the_folder_can_be_chosen(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSEME_HOME", str(tmp_path / "home"))
    assert default_folder() == own_cache
    monkeypatch.delenv("POLYSEME_CACHE")
    assert default_folder() == tmp_path / "home"


def test_the_limit_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LayerCache(tiny_elmo(), tmp_path).limit == default_limit() == 10 << 30
    monkeypatch.setenv("POLYSEME_CACHE_GB", "0.5")
    assert LayerCache(tiny_elmo(), tmp_path).limit == 1 << 29
    for wrong in ("much", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("POLYSEME_CACHE_GB", wrong)
        with pytest.raises(ConfigError, match=f"POLYSEME_CACHE_GB is '{wrong}', but should be"):
            default_limit()


def test_new_text_is_held_in_memory_for_as_long_as_it_is_asked_for(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    cache = LayerCache(elmo, tmp_path)
    with cache.held(TEXT):
        before = cache.computed
        np.testing.assert_array_equal(cache.layers(TEXT), expected(elmo, TEXT))
        assert cache.computed == before == 4
    cache.layers(TEXT[:1])
    assert cache.computed == 5, "and then it is gone"
    assert not segments(tmp_path)
