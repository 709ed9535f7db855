"""One row for each word between spaces: the table that reading times are compared with.

A reading-time corpus has words as they stand in print, "river." with its full stop; a model has tokens. The surprisal
of a word is the sum over its tokens (the chain rule), and it has none if one of its tokens has none. Its entropy is
that of the prediction made before any of it was seen: at its first token, and read backward at its last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyseme.lm.scoring import Doubles, Score


@dataclass(frozen=True, slots=True)
class ScoredWord:
    """Figures in bits; None where there is none."""

    sentence: int  #: of the text, from 0
    number: int  #: of the word in its sentence, from 0
    word: str  #: as it stands in the text
    begin: int  #: offsets into the text
    end: int
    tokens: int
    unknown: bool  #: whether the model does not know one of its tokens
    surprisal: float | None
    backward_surprisal: float | None
    entropy: float
    backward_entropy: float | None


def scored_words(score: Score) -> Iterator[ScoredWord]:
    """The words of a text, in order, without the boundaries of its sentences."""
    for sentence, (first, stop) in enumerate(score.sentences):
        for number, (begin, end) in enumerate(_words(score, first, stop)):
            start, finish = int(score.offsets[begin, 0]), int(score.offsets[end - 1, 1])
            yield ScoredWord(
                sentence=sentence,
                number=number,
                word=score.text[start:finish],
                begin=start,
                end=finish,
                tokens=end - begin,
                unknown=bool(score.unknown[begin:end].any()),
                surprisal=_sum(score.surprisal, begin, end),
                backward_surprisal=_sum(score.backward_surprisal, begin, end),
                entropy=float(score.entropy[begin]),
                backward_entropy=None if score.backward_entropy is None else float(score.backward_entropy[end - 1]),
            )


def _words(score: Score, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of tokens with no white space between them: first token and end of each."""
    begin = first
    for n in range(first + 1, stop):
        if any(map(str.isspace, score.text[score.offsets[n - 1, 1] : score.offsets[n, 0]])):
            yield begin, n
            begin = n
    if begin < stop:
        yield begin, stop


def _sum(bits: Doubles | None, begin: int, end: int) -> float | None:
    if bits is None or np.isnan(bits[begin:end]).any():
        return None
    return float(bits[begin:end].sum())
