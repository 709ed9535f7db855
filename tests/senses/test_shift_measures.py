"""Measures of change are what their formulas say, and what chance gives is called chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.encoding import unit
from polyseme.senses.clusters import find_groups
from polyseme.senses.shift_measures import MEASURES, false_discovery, measure_shift


def clouds(random: np.random.Generator, *sizes: int, apart: float = 4.0) -> np.ndarray:
    """So many points around each of some far directions. [n, 8]"""
    points = [random.normal(size=(size, 8)) + apart * np.eye(8)[number] for number, size in enumerate(sizes)]
    return unit(np.concatenate(points).astype(np.float32))


def test_each_is_its_formula() -> None:
    vectors = clouds(np.random.default_rng(0), 5, 7)
    similarity, labels = vectors @ vectors.T, np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1])
    found = measure_shift(similarity, labels, 5, range(12))
    one, other = vectors[:5].mean(axis=0), vectors[5:].mean(axis=0)
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert found["APD"].value == pytest.approx(1 - similarity[:5, 5:].mean(), abs=1e-6)
    assert found["prototypes"].value == pytest.approx(1 - cosine, abs=1e-6)
    p, q = np.array([4, 1]) / 5, np.array([1, 6]) / 7
    middle = (p + q) / 2
    divergence = (p @ np.log2(p / middle) + q @ np.log2(q / middle)) / 2
    assert found["JSD"].value == pytest.approx(np.sqrt(divergence), abs=1e-6)


def test_a_word_that_changed_is_found_and_one_that_did_not_is_not() -> None:
    random = np.random.default_rng(1)
    changed, same = clouds(random, 30, 30), clouds(random, 60)
    for vectors, is_changed in ((changed, True), (same, False)):
        similarity = vectors @ vectors.T
        for one in measure_shift(similarity, find_groups(similarity), 30, range(60)).values():
            assert (one.p < 0.01) == is_changed
            assert one.low <= one.value <= one.high
            assert (one.excess > 0.1) == is_changed


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(2, 8))
def test_any_word_has_measures_within_their_bounds(seed: int, before: int, after: int) -> None:
    random = np.random.default_rng(seed)
    vectors = unit(np.abs(random.normal(size=(before + after, 4))).astype(np.float32))
    labels = random.integers(3, size=before + after)
    blocks = random.integers(3, size=before + after).tolist()
    for name, one in measure_shift(vectors @ vectors.T, labels, before, blocks).items():
        assert 0 <= one.low <= one.value <= one.high <= 2, name
        assert 0 < one.p <= 1
        if name == "JSD":
            assert one.value <= 1


def test_the_false_positive_rate_is_the_level() -> None:
    """300 words that did not change, whose uses come in documents of two like uses each."""
    random = np.random.default_rng(2)
    ps = {name: [] for name in MEASURES}  # type: ignore[var-annotated]
    for _ in range(300):
        documents = random.normal(size=(16, 6))
        vectors = unit((np.repeat(documents, 2, axis=0) + 0.3 * random.normal(size=(32, 6))).astype(np.float32))
        found = measure_shift(vectors @ vectors.T, np.arange(32) % 3, 16, [n // 2 for n in range(32)])
        for name, one in found.items():
            ps[name].append(one.p)
    for name in ("APD", "prototypes"):
        assert 0.02 <= np.mean(np.array(ps[name]) < 0.05) <= 0.09, name  # four standard errors around 0.05
    assert np.mean(np.array(ps["JSD"]) < 0.05) <= 0.09  # few values, so that ties make it careful


def test_documents_that_are_taken_apart_would_be_mistaken_for_change() -> None:
    """Why blocks: the same uses, shuffled one by one, look changed far too often."""
    random = np.random.default_rng(3)
    apart = []
    for _ in range(100):
        vectors = unit(np.repeat(random.normal(size=(8, 6)), 4, axis=0) + 0.2 * random.normal(size=(32, 6)))
        similarity = (vectors @ vectors.T).astype(np.float32)
        apart.append(measure_shift(similarity, np.zeros(32, np.int64), 16, range(32))["APD"].p < 0.05)
    assert np.mean(apart) > 0.2


def test_the_same_input_gives_the_same_figures() -> None:
    vectors = clouds(np.random.default_rng(4), 6, 6)
    similarity = vectors @ vectors.T
    one = measure_shift(similarity, np.arange(12) % 2, 6, range(12), seed=[0, 5])
    assert one == measure_shift(similarity, np.arange(12) % 2, 6, range(12), seed=[0, 5])


def test_a_text_without_uses_is_refused() -> None:
    with pytest.raises(ValueError, match="uses in both texts"):
        measure_shift(np.eye(3, dtype=np.float32), np.zeros(3, np.int64), 0, range(3))


def test_false_discovery_is_that_of_benjamini_and_hochberg() -> None:
    assert false_discovery([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert false_discovery([0.9, 0.001]) == pytest.approx([0.9, 0.002])
    assert false_discovery([]) == []
