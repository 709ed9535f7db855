"""Exact match and F1 against the official evaluation program, function by function."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.tasks.squad.metrics import exact_match, normalise_answer, overlap_f1, score_answers


def official_normalise(s: str) -> str:
    """As evaluate-v1.1.py has it."""
    lowered = "".join(ch for ch in s.lower() if ch not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", lowered).split())


def official_f1(prediction: str, ground_truth: str) -> float:
    prediction_tokens = official_normalise(prediction).split()
    ground_truth_tokens = official_normalise(ground_truth).split()
    num_same = sum((Counter(prediction_tokens) & Counter(ground_truth_tokens)).values())
    if num_same == 0:
        return 0
    precision, recall = num_same / len(prediction_tokens), num_same / len(ground_truth_tokens)
    return (2 * precision * recall) / (precision + recall)


ANSWERS = st.lists(st.sampled_from(["the", "A", "an", "Denver", "Broncos", "in", "1999", "U.S.", "«x»", "-"])).map(
    " ".join
)


@given(ANSWERS | st.text(), ANSWERS | st.text())
def test_both_scores_are_those_of_the_official_program(prediction: str, answer: str) -> None:
    assert normalise_answer(prediction) == official_normalise(prediction)
    assert overlap_f1(prediction, answer) == pytest.approx(official_f1(prediction, answer), abs=1e-12)
    assert exact_match(prediction, answer) == (official_normalise(prediction) == official_normalise(answer))


def test_by_hand() -> None:
    assert exact_match("The Denver Broncos!", "denver broncos") == 1
    assert overlap_f1("Santa Clara, California", "at Santa Clara") == pytest.approx(2 * 2 / (3 + 3))


def test_the_best_answer_counts_and_a_missing_prediction_is_wrong() -> None:
    scores = score_answers({"q1": "in 1999", "q2": "x"}, {"q1": ["May 1999", "1999"], "q2": ["y"], "q3": ["z"]})
    assert scores == {"exact_match": 0, "f1": pytest.approx(100 * (2 / 3) / 3)}
    assert score_answers({"q": "b"}, {"q": ["a b c", "b."]}) == {"exact_match": 100, "f1": 100}
