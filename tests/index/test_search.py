"""The search is exact: it finds what a comparison with every vector finds, in blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.encoding import unit
from polyseme.index import search
from polyseme.index.search import nearest


@given(
    count=st.integers(1, 200),
    width=st.integers(1, 9),
    k=st.integers(1, 30),
    block=st.integers(1, 64),
    seed=st.integers(0, 1000),
)
def test_as_a_full_sort_does_it(count: int, width: int, k: int, block: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    units = unit(chance.normal(size=(count, width)).astype(np.float32)).astype(np.float16)
    query = chance.normal(size=width).astype(np.float32)
    cosines = np.clip(units.astype(np.float64) @ (query / np.linalg.norm(query)), -1, 1)  # rounding may go beyond 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BLOCK_BYTES", 4 * width * block)
        rows, found = nearest(units, query, k)
    assert len(rows) == min(k, count) == len(set(rows.tolist()))
    np.testing.assert_allclose(found, np.sort(cosines)[::-1][:k], atol=2e-6)
    np.testing.assert_allclose(found, cosines[rows], atol=2e-6)


@given(block=st.integers(1, 40), k=st.integers(1, 40))
def test_of_equal_vectors_the_earlier_come_first(block: int, k: int) -> None:
    units = np.tile(np.eye(2, dtype=np.float16), (20, 1))  # every second one is the same
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BLOCK_BYTES", 8 * block)
        rows, cosines = nearest(units, np.array([0, 5.0]), k)
    assert rows.tolist() == [*range(1, 40, 2), *range(0, 40, 2)][:k]
    assert cosines.tolist() == ([1.0] * 20 + [0.0] * 20)[:k]


def test_among_some_rows_only() -> None:
    units = np.eye(5, dtype=np.float32)
    rows, cosines = nearest(units, np.ones(5), 3, np.array([4, 1]))
    assert rows.tolist() == [1, 4]
    np.testing.assert_allclose(cosines, 5**-0.5, rtol=1e-6)
    assert nearest(units, np.ones(5), 3, np.empty(0, np.int64))[0].tolist() == []


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert unit(np.zeros((1, 3), np.float32)).tolist() == [[0.0, 0.0, 0.0]]
    _, cosines = nearest(np.zeros((2, 3), np.float16), np.ones(3), 1)
    assert cosines.tolist() == [0.0]
