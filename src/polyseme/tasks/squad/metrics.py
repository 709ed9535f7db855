"""Exact match and F1 of answers, as the data sets of each language define them.

    en    SQuAD (Rajpurkar et al., 2016)    lower case, no punctuation, no articles; F1 over words
    ko    KorQuAD (Lim et al., 2019)        lower case, no punctuation, no quotes of books; F1 over characters
    zh    CMRC 2018 (Cui et al., 2019)      lower case, no punctuation; F1 over the longest run of characters (Latin
                                            letters: words, which our English rules split and NLTK in the original)

If a question has several answers, the best score counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyseme.errors import ConfigError
from polyseme.text.tokenization import language_code, split_text

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: Characters that KorQuAD replaces by a blank before it removes punctuation.
_KOREAN_MARKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))
#: Characters that CMRC's script removes.
_CHINESE_MARKS = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_HAN, _HANGUL = re.compile("[\u4e00-\u9fa5]"), re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """How answers are compared in a language."""

    exact: Callable[[str, str], float]  #: 1 or 0
    f1: Callable[[str, str], float]
    by_character: bool  #: whether an answer may begin and end inside a word

    def score(self, predictions: Mapping[str, str], answers: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Predictions and answers by question → {"exact_match", "f1"} in percent; a missing prediction is wrong."""
        pairs = [(predictions.get(question), right) for question, right in answers.items()]
        return {
            "exact_match": 100 * _mean([_best(self.exact, prediction, right) for prediction, right in pairs]),
            "f1": 100 * _mean([_best(self.f1, prediction, right) for prediction, right in pairs]),
        }


def normalise_answer(text: str) -> str:
    """ "The  Denver Broncos!" → "denver broncos"."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answer: str) -> float:
    """1 if the normalised texts are equal, else 0."""
    return float(normalise_answer(prediction) == normalise_answer(answer))


def overlap_f1(prediction: str, answer: str) -> float:
    """The harmonic mean of precision and recall over words, counting repetitions."""
    return _overlap(normalise_answer(prediction).split(), normalise_answer(answer).split())


def normalise_korean(text: str) -> str:
    """ "《백범일지》를" → "백범일지 를"."""
    return " ".join(text.translate(_KOREAN_MARKS).lower().translate(_PUNCTUATION).split())


def korean_exact_match(prediction: str, answer: str) -> float:
    return float(normalise_korean(prediction) == normalise_korean(answer))


def character_f1(prediction: str, answer: str) -> float:
    """The same as ``overlap_f1`` over characters without blanks, so that an extra particle costs only a little."""
    found, right = (normalise_korean(text).replace(" ", "") for text in (prediction, answer))
    return _overlap(found, right)


def chinese_pieces(text: str) -> list[str]:
    """Chinese characters, and the other words between them, in lower case, without punctuation."""
    pieces, other = list[str](), ""
    for character in f"{text.lower().strip()}\n":
        if character in _CHINESE_MARKS:
            continue
        if not _HAN.match(character) and character != "\n":
            other += character
            continue
        pieces += [token for sentence in split_text(other, "en") for token in sentence.tokens]
        other = ""
        pieces += [character] if character != "\n" else []
    return pieces


def chinese_exact_match(prediction: str, answer: str) -> float:
    found, right = (
        "".join(character for character in text.lower().strip() if character not in _CHINESE_MARKS)
        for text in (prediction, answer)
    )
    return float(found == right)


def longest_run_f1(prediction: str, answer: str) -> float:
    """The harmonic mean of the shares of both answers that their longest common run of pieces makes up."""
    found, right = chinese_pieces(prediction), chinese_pieces(answer)
    common = _longest_run(found, right)
    return 2 * common / (len(found) + len(right)) if common else 0.0


METRICS = {
    "en": AnswerMetric(exact_match, overlap_f1, by_character=False),
    "ko": AnswerMetric(korean_exact_match, character_f1, by_character=True),
    "zh": AnswerMetric(chinese_exact_match, longest_run_f1, by_character=True),
}


def metric_of(lang: str) -> AnswerMetric:
    """The metric of a language; ConfigError if no data set defines how its answers are compared."""
    code = "en" if lang in ("any", "whitespace") else language_code(lang)  # both leave the language open
    if code not in METRICS:
        raise ConfigError(
            f"answers in {lang!r} cannot be scored: words and articles, which SQuAD's score compares, are English, and "
            "only Korean (KorQuAD) and Chinese (CMRC) have their own scores here; choose one with --lang en, ko or zh"
        )
    return METRICS[code]


def refuse_other_script(lang: str, text: str) -> None:
    """ConfigError if the text is Korean or Chinese, but split as another language."""
    letters = sum(map(str.isalpha, text))
    for code, script in (("ko", _HANGUL), ("zh", _HAN)):
        found = len(script.findall(text))
        if found > letters / 2 and language_code(lang) != code:
            name = {"ko": "Korean", "zh": "Chinese"}[code]
            raise ConfigError(
                f"the text is {name}, but split as {lang!r}: its answers begin and end inside words and would be "
                f"scored wrongly; give --lang {code}"
            )


def _overlap(found: Sequence[str], right: Sequence[str]) -> float:
    common = (Counter(found) & Counter(right)).total()
    return 2 * common / (len(found) + len(right)) if common else 0.0


def _longest_run(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common substring, in pieces."""
    longest, above = 0, [0] * (len(second) + 1)
    for piece in first:
        row = [0] * (len(second) + 1)
        for place, other in enumerate(second, start=1):
            row[place] = above[place - 1] + 1 if piece == other else 0
        longest, above = max(longest, *row), row
    return longest


def _best(score: Callable[[str, str], float], prediction: str | None, answers: Sequence[str]) -> float:
    return 0.0 if prediction is None else max((score(prediction, answer) for answer in answers), default=0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
