"""Each distinct token is encoded once, and the table stays within its limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.engine.token_rows import LONGEST_KEY, Boundary, Key, TokenRows

SENTENCES = st.lists(st.lists(st.sampled_from([str(n) for n in range(60)]), max_size=9), max_size=6)


class Counted:
    """A table whose vectors say which token they belong to, and which remembers what it was asked to encode."""

    def __init__(self, limit: int) -> None:
        self.encoded: list[Key] = []
        self.rows = TokenRows(self.encode, 2, limit)

    def encode(self, keys: Sequence[Key]) -> npt.NDArray[np.float32]:
        self.encoded += keys
        return np.array([[value(key), 0.5] for key in keys], np.float32)

    def values(self, sentences: list[list[str]]) -> list[float]:
        places = self.rows.look_up(sentences)
        values: list[float] = self.rows.table[places, 0].tolist()
        return values


def value(key: Key) -> float:
    return -1.0 if key is Boundary.BEGIN else -2.0 if key is Boundary.END else float(key[:9])


def expected(sentences: list[list[str]]) -> list[float]:
    return [v for s in sentences for v in (-1.0, *map(float, s), -2.0)]


def test_a_token_is_encoded_once_over_all_calls() -> None:
    table = Counted(limit=100)
    assert table.values([["1", "2", "1"], ["2"]]) == [-1, 1, 2, 1, -2, -1, 2, -2]
    assert table.values([["2", "3"]]) == [-1, 2, 3, -2]
    assert table.encoded == [Boundary.BEGIN, Boundary.END, "1", "2", "3"]
    stats = table.rows.stats
    assert (stats.hits, stats.misses, stats.rows, stats.limit) == (3, 5, 5, 100)
    assert stats.rate == 3 / 8


@given(st.integers(0, 70), st.lists(SENTENCES, max_size=12))
def test_rows_are_right_whatever_was_evicted_in_between(limit: int, calls: list[list[list[str]]]) -> None:
    table = Counted(limit)
    for sentences in calls:
        assert table.values(sentences) == expected(sentences)


@given(st.integers(0, 70), st.lists(SENTENCES, max_size=12))
def test_the_table_keeps_to_its_limit_unless_one_call_needs_more(limit: int, calls: list[list[list[str]]]) -> None:
    table = Counted(limit)
    for sentences in calls:
        table.rows.look_up(sentences)
        needed = len({token for sentence in sentences for token in sentence}) + 2
        assert table.rows.stats.rows <= max(limit, needed, 2)


def test_what_was_used_last_stays() -> None:
    table = Counted(limit=40)
    for n in range(200):
        table.values([["7", str(100 + n)]])
    assert table.encoded.count("7") == 1


def test_the_table_grows_with_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.engine.token_rows.FIRST_BYTES", 0)
    table = Counted(limit=1_000_000)
    for n in range(100):
        table.values([[str(100 * n + i) for i in range(100)]])
    assert 10_002 <= len(table.rows.table) <= 20_004
    assert table.values([["7", "9999"]]) == [-1, 7, 9999, -2]


def test_very_long_tokens_are_not_kept() -> None:
    table = Counted(limit=100)
    long = "1" * (LONGEST_KEY + 1)
    for _ in range(2):
        assert table.values([["5", long]])[1] == 5.0
    assert table.encoded.count(long) == 2
    assert table.encoded.count("5") == 1
    assert long not in table.rows.where


def test_an_error_while_encoding_leaves_the_table_as_it_was() -> None:
    table = Counted(limit=10)
    table.values([["1"]])
    good = table.rows.encode

    def fail(keys: Sequence[Key]) -> npt.NDArray[np.float32]:
        raise MemoryError

    table.rows.encode = fail
    try:
        table.values([["1", "2"]])
    except MemoryError:
        table.rows.encode = good
    assert table.values([["2", "1"]]) == [-1, 2, 1, -2]
