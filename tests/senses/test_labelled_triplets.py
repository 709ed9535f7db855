"""Triplet accuracy: counted by hand, against a plain loop, and with an interval that covers."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.encoding import Floats
from polyseme.senses.labelled import TIE, mean_interval, nearest_accuracy, triplet_accuracy


def by_loop(similarity: Floats, senses: list[str]) -> float:
    """The definition, word for word."""
    verdicts = []
    for anchor, positive, negative in permutations(range(len(senses)), 3):
        if senses[anchor] == senses[positive] != senses[negative]:
            gap = float(similarity[anchor, positive]) - float(similarity[anchor, negative])
            verdicts.append(0.5 if abs(gap) <= TIE else float(gap > 0))
    return sum(verdicts) / len(verdicts)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Floats, list[str]]:
    senses = ["a", "a", "b", *draw(st.lists(st.sampled_from("abc"), max_size=6))]
    values = st.sampled_from([-0.5, 0.0, 0.25, 0.25 + TIE / 4, 1.0])
    rows = [[draw(values) for _ in senses] for _ in senses]
    return np.array(rows, np.float32), senses


@given(labelled())
def test_it_is_the_share_of_triplets_that_are_right(case: tuple[Floats, list[str]]) -> None:
    assert triplet_accuracy(*case) == pytest.approx(by_loop(*case))


def test_equal_similarities_are_one_half() -> None:
    assert triplet_accuracy(np.ones((4, 4), np.float32), list("aabb")) == 0.5


def test_a_word_without_triplets_has_no_share() -> None:
    for senses in ("aa", "ab"):
        with pytest.raises(ValueError, match="needs two senses, and two uses"):
            triplet_accuracy(np.ones((2, 2), np.float32), list(senses))


def test_the_interval_is_that_of_the_mean() -> None:
    """For many values it is the usual one: 1.96 standard errors to either side."""
    values = np.random.default_rng(1).normal(0.7, 0.2, size=400)
    found = mean_interval(values)
    error = values.std() / np.sqrt(len(values))
    assert found.mean == pytest.approx(values.mean()) and found.count == 400
    assert (found.mean - found.low, found.high - found.mean) == pytest.approx((1.96 * error, 1.96 * error), rel=0.15)
    assert mean_interval(values) == found


def test_equal_values_have_no_width() -> None:
    found = mean_interval([0.5, 0.5])
    assert (found.low, found.high) == (0.5, 0.5)


def test_the_nearest_use_is_right_or_wrong_and_ties_count_by_their_share() -> None:
    similarity = np.array([[1, 0.9, 0.1, 0.1], [0.9, 1, 0.1, 0.2], [0.5, 0.1, 1, 0.5], [0.1, 0.8, 0.2, 1]], np.float32)
    assert nearest_accuracy(similarity, ["a", "a", "b", "b"]) == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert nearest_accuracy(np.ones((4, 4), np.float32), ["a", "a", "b", "b"]) == pytest.approx(
        1 / 3
    )  # a static vector
