"""Exact match and F1 against the official evaluation program, function by function."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import ConfigError
from polyseme.tasks.squad.metrics import (
    METRICS,
    exact_match,
    metric_of,
    normalise_answer,
    overlap_f1,
    refuse_other_script,
)


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
    scores = METRICS["en"].score({"q1": "in 1999", "q2": "x"}, {"q1": ["May 1999", "1999"], "q2": ["y"], "q3": ["z"]})
    assert scores == {"exact_match": 0, "f1": pytest.approx(100 * (2 / 3) / 3)}
    assert METRICS["en"].score({"q": "b"}, {"q": ["a b c", "b."]}) == {"exact_match": 100, "f1": 100}


#: Answers as files of KorQuAD and CMRC have them, with the scores that their official programs give.
KOREAN = [
    ("서울에서", "서울", 0, 2 * 2 / 6),
    ("《백범일지》", "백범일지", 1, 1.0),
    ("1919년 3월", "1919년", 0, 2 * 5 / 12),
    ("The BBC", "bbc", 0, 2 * 3 / 9),  # articles are words like others
    ("부산", "대구", 0, 0.0),
]
CHINESE = [
    ("《红楼梦》", "红楼梦", 1, 1.0),
    ("北京市", "北京", 0, 2 * 2 / 5),
    ("京北", "北京", 0, 2 * 1 / 4),  # a run, not a bag
    ("1999年", "1999年。", 1, 1.0),
    ("New York 市", "new york", 0, 2 * 2 / 5),  # Latin letters are words
    ("上海", "南方", 0, 0.0),
]


@pytest.mark.parametrize(
    ("lang", "prediction", "answer", "exact", "f1"),
    [*(("ko", *row) for row in KOREAN), *(("zh", *row) for row in CHINESE)],
)
def test_korean_and_chinese_answers(lang: str, prediction: str, answer: str, exact: float, f1: float) -> None:
    assert METRICS[lang].exact(prediction, answer) == exact
    assert METRICS[lang].f1(prediction, answer) == pytest.approx(f1)


@given(st.sampled_from(["en", "ko", "zh"]), st.text("가나다 北京市 ab1.,《", min_size=1))
def test_the_right_answer_has_the_full_score(lang: str, answer: str) -> None:
    assert METRICS[lang].exact(answer, answer) == 1
    assert METRICS[lang].f1(answer, answer) in (0, 1)  # 0 where nothing is left of it


@pytest.mark.parametrize("lang", ["ja", "fr", "protein", "module:function"])
def test_a_language_without_a_score_is_refused_with_the_reason(lang: str) -> None:
    with pytest.raises(ConfigError, match=rf"answers in '{lang}' cannot be scored.*--lang en, ko or zh"):
        metric_of(lang)


def test_text_of_another_script_than_it_is_split_for_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the text is Korean, but split as 'any'.*give --lang ko"):
        refuse_other_script("any", "서울은 대한민국의 수도이다. (Seoul)")
    with pytest.raises(ConfigError, match="the text is Chinese, but split as 'en'"):
        refuse_other_script("en", "北京是中华人民共和国的首都。")
    refuse_other_script("ko-eojeol", "서울은 수도이다.")
    refuse_other_script("en", "Seoul (서울) is the capital of Korea.")
