"""Exact match and F1 of answers, in SQuAD's official definition (Rajpurkar et al., 2016).

Both compare normalised texts: lower case, without punctuation, articles and extra spaces. A question with several
answers counts the best of them.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """ "The  Denver Broncos!" → "denver broncos"."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answer: str) -> float:
    """1 if the normalised texts are equal, else 0."""
    return float(normalise_answer(prediction) == normalise_answer(answer))


def overlap_f1(prediction: str, answer: str) -> float:
    """The harmonic mean of precision and recall over the words, counted with their repetitions."""
    found, right = normalise_answer(prediction).split(), normalise_answer(answer).split()
    common = (Counter(found) & Counter(right)).total()
    return 2 * common / (len(found) + len(right)) if common else 0.0


def score_answers(predictions: Mapping[str, str], answers: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Predictions and answers by question → {"exact_match", "f1"} in percent; a missing prediction is wrong."""
    pairs = [(predictions.get(question), right) for question, right in answers.items()]
    return {
        "exact_match": 100 * _mean([_best(exact_match, prediction, right) for prediction, right in pairs]),
        "f1": 100 * _mean([_best(overlap_f1, prediction, right) for prediction, right in pairs]),
    }


def _best(score: Callable[[str, str], float], prediction: str | None, answers: Sequence[str]) -> float:
    return 0.0 if prediction is None else max((score(prediction, answer) for answer in answers), default=0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
