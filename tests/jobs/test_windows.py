"""Windows: everything once, in order, no group larger than it has to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polyseme.jobs.windows import windows


@given(st.lists(st.integers(0, 9)), st.integers(0, 20), st.integers(1, 5))
def test_groups_end_where_the_limit_is_reached(sizes: list[int], limit: int, most: int) -> None:
    groups = list(windows(sizes, int, limit, most=most))
    assert [size for group in groups for size in group] == sizes
    assert all(groups)
    for group in groups:
        assert sum(group[:-1]) < limit or len(group) == 1
        assert len(group) <= most
    for group in groups[:-1]:
        assert sum(group) >= limit or len(group) == most


def test_no_more_is_read_than_a_group_needs() -> None:
    read: list[int] = []
    numbers = (read.append(number) or number for number in range(9))
    next(windows(numbers, lambda number: 1, 3))
    assert read == [0, 1, 2]
