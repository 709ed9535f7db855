"""The library reports how far its work is and draws nothing itself; windows have everything once, in order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyseme
from helpers.tiny_models import tiny_elmo
from polyseme.jobs.progress import Progress, reporting_progress, windows, working

SOURCE = Path(polyseme.__file__).parent
SENTENCES = [["Here", "is", "your", "present", "."]] * 7


def test_work_is_told_to_the_listener() -> None:
    heard: list[Progress] = []
    with reporting_progress(heard.append), working("reading", 10) as work:
        work.advance(4, tokens=40)
        work.reach(10, tokens=100, note="loss 1.5")
    assert [(one.title, one.done, one.total, one.tokens, one.note, one.ended) for one in heard] == [
        ("reading", 4, 10, 40, "", False),
        ("reading", 10, 10, 100, "loss 1.5", False),
        ("reading", 10, 10, 100, "", True),
    ]


def test_or_to_the_function_that_was_given() -> None:
    heard: list[Progress] = []
    with reporting_progress(lambda progress: pytest.fail("the other one was given")):
        tiny_elmo().encode_tokens(SENTENCES, progress=heard.append)
    assert heard[-1].ended
    assert heard[-1].done == heard[-1].total == sum(len(sentence) + 2 for sentence in SENTENCES)


def test_work_within_work_is_not_told() -> None:
    heard: list[Progress] = []
    with reporting_progress(heard.append), working("the job", 1) as work:
        tiny_elmo().encode_tokens(SENTENCES)
        work.advance(1)
    assert {one.title for one in heard} == {"the job"}


def test_where_nobody_listens_nothing_happens(capfd: pytest.CaptureFixture[str]) -> None:
    tiny_elmo().encode_tokens(SENTENCES)
    assert capfd.readouterr() == ("", "")


def test_only_the_command_line_draws() -> None:
    drawing = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        if any((name or "").split(".")[0] == "rich" for name in names):
            drawing.append(path.relative_to(SOURCE).parts[0])
    assert set(drawing) == {"cli"}


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
