"""Scores of semantic roles: cases by hand, and pieces joined as the CoNLL-2005 scorer joins them."""

from __future__ import annotations

import pytest

from polyseme.tasks.scores import precision_recall_f1
from polyseme.tasks.spans import Span
from polyseme.tasks.srl.metrics import RoleScore, arguments, score_roles


def spans(text: str) -> list[Span]:
    """ "A0:0-2 V:2-3"."""
    found = (part.replace(":", " ").rsplit("-", 1) for part in text.split())
    return [Span(left.split()[0], int(left.split()[1]), int(end)) for left, end in found]


def test_a_continuation_joins_the_last_argument_of_its_role() -> None:
    found = arguments(spans("A1:0-1 V:1-2 C-A1:2-4 A0:4-5 C-V:5-6 C-A1:6-7"))
    assert found == [("A1", ((0, 1), (2, 4), (6, 7))), ("A0", ((4, 5),))]


def test_a_continuation_without_a_beginning_is_an_argument_of_its_own() -> None:
    assert arguments(spans("C-A1:0-1 A1:2-3")) == [("A1", ((0, 1),)), ("A1", ((2, 3),))]


def test_a_reference_is_a_role_of_its_own() -> None:
    assert arguments(spans("A0:0-1 R-A0:1-2")) == [("A0", ((0, 1),)), ("R-A0", ((1, 2),))]


def test_scores_by_hand() -> None:
    gold = [spans("A0:0-2 V:2-3 A1:3-5 AM-TMP:5-6"), spans("A1:0-1 V:1-2")]
    predicted = [spans("A0:0-2 V:2-3 A1:3-4 AM-TMP:5-6"), spans("A0:0-1 V:1-2 A2:2-3")]
    overall, roles = score_roles(predicted, gold)
    assert overall == RoleScore(correct=2, predicted=5, gold=4)
    assert precision_recall_f1(*overall) == {"precision": 40, "recall": 50, "f1": pytest.approx(400 / 9), "support": 4}
    assert roles == {
        "A0": RoleScore(1, 2, 1),
        "A1": RoleScore(0, 1, 2),
        "A2": RoleScore(0, 1, 0),
        "AM-TMP": RoleScore(1, 1, 1),
    }


def test_an_argument_in_pieces_is_right_only_as_a_whole() -> None:
    gold = [spans("A1:0-1 V:1-2 C-A1:2-4")]
    assert score_roles(gold, gold)[0] == RoleScore(1, 1, 1)
    assert score_roles([spans("A1:0-1 V:1-2 C-A1:2-3")], gold)[0] == RoleScore(0, 1, 1)


def test_nothing_to_find_is_no_error() -> None:
    overall, roles = score_roles([spans("V:0-1")], [spans("V:0-1")])
    assert precision_recall_f1(*overall) == {"precision": 0, "recall": 0, "f1": 0, "support": 0}
    assert roles == {}
