"""benchmarks/agreement.py: figures of agreement against their definitions by pairs, on groupings that vary."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import adjusted_rand, contingency, paired_f, v_measure

groupings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=20)


@given(groupings)
def test_pairs_are_counted_one_by_one(things: list[tuple[int, int]]) -> None:
    gold, found = zip(*things, strict=True)
    pairs = list(combinations(range(len(things)), 2))
    in_gold, in_found = ({pair for pair in pairs if one[pair[0]] == one[pair[1]]} for one in (gold, found))
    both = len(in_gold & in_found)
    assert paired_f(contingency(gold, found)) == pytest.approx(2 * both / max(1, len(in_gold) + len(in_found)))
    chance, most = len(in_gold) * len(in_found) / len(pairs), (len(in_gold) + len(in_found)) / 2
    expected = 1.0 if most == chance else (both - chance) / (most - chance)
    assert adjusted_rand(contingency(gold, found)) == pytest.approx(expected)


@given(groupings)
def test_the_v_measure_is_symmetric_and_one_for_equal_groups(things: list[tuple[int, int]]) -> None:
    gold, found = zip(*things, strict=True)
    assert v_measure(contingency(gold, found)) == pytest.approx(v_measure(contingency(found, gold)), abs=1e-9)
    assert v_measure(contingency(gold, [f"x{one}" for one in gold])) == pytest.approx(1)


def test_one_group_has_no_v_measure_and_no_rand_index() -> None:
    table = contingency("aabb", "cccc")
    assert v_measure(table) == pytest.approx(0, abs=1e-12) and adjusted_rand(table) == 0


def test_random_groups_agree_by_chance_only() -> None:
    random = np.random.default_rng(0)
    found = [adjusted_rand(contingency(*random.integers(3, size=(2, 40)).tolist())) for _ in range(300)]
    assert abs(np.mean(found)) < 0.01
