"""The largest numbers of a row are those of a sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyseme.lm.lexicon import DEPTH, largest_in_rows


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40 * DEPTH), st.integers(1, 50), st.booleans())
def test_they_are_those_of_a_stable_sort(seed: int, count: int, width: int, k: int, ties: bool) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, width)).astype(np.float32)
    if ties:
        rows = rows.round()
    rows[random.random(rows.shape) < 0.1] = -np.inf
    places, values = largest_in_rows(rows, k)
    order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(rows, order, axis=1))


def test_a_short_row_is_given_whole() -> None:
    places, values = largest_in_rows(np.array([[1.0, 3.0, 2.0]], np.float32), 5)
    assert places.tolist() == [[1, 2, 0]] and values.tolist() == [[3.0, 2.0, 1.0]]


def test_no_rows() -> None:
    places, _ = largest_in_rows(np.empty((0, 100), np.float32), 5)
    assert places.shape == (0, 5)
