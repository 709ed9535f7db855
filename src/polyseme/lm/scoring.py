"""How likely each token of a text is, given the tokens before it and given the tokens after it.

A sentence of n tokens has n + 1 predictions in each direction: its tokens, and the boundary where the direction ends,
``</S>`` forward and ``<S>`` backward. The sum over one direction is the log-probability of the sentence.

All words that the softmax lacks share the probability of ``<UNK>``. That number says nothing about the word, so it is
left out unless requested.

Reading-time data have words as printed, "river." with its full stop; a model has tokens. The surprisal of a word
between spaces is the sum over its tokens (chain rule), and is missing if that of any token is. Its entropy is that of
the prediction before any of it was seen: at its first token or, read backward, at its last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from polyseme.elmo import WINDOW_POSITIONS, Elmo
from polyseme.encoding import Floats
from polyseme.errors import ConfigError
from polyseme.formats.model import output_layer
from polyseme.jobs.progress import windows
from polyseme.lm.likelihood import Likelihood, written_bytes
from polyseme.lm.word_probabilities import predict, read_outputs
from polyseme.prepared_text import Item, PreparedText, bounds_of
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN

Doubles = npt.NDArray[np.float64]

#: What a word outside the vocabulary gets: nothing, or the probability of <UNK>.
Unknown = Literal["empty", "score"]


@dataclass(frozen=True, eq=False)
class Score:
    """The log-probabilities (nats) of one text. Position n of the token arrays belongs to ``tokens[n]``.

    The backward fields are None for a forward-only model. ``forward`` and ``backward`` are NaN where ``unknown`` is
    true, unless the text was scored with ``unknown="score"``.
    """

    text: str
    tokens: list[str]
    offsets: npt.NDArray[np.int64]  # [N, 2] into the text
    sentences: list[tuple[int, int]]  #: [start, end) of each of the S sentences, in tokens
    unknown: npt.NDArray[np.bool_]  # [N] not in the vocabulary
    forward: Doubles  # [N] ln p(token | tokens before it)
    backward: Doubles | None  # [N] ln p(token | tokens after it)
    ends: Doubles  # [S] ln p(</S> | the sentence)
    begins: Doubles | None  # [S] ln p(<S> | the sentence)
    entropy: Doubles  # [N] entropy of the prediction in bits, before the token is seen, read forward
    backward_entropy: Doubles | None  # [N] the same, read backward

    @property
    def surprisal(self) -> Doubles:
        """−log2 p of each token, in bits, read forward; NaN for a token without a score. [N]"""
        return -self.forward / math.log(2)

    @property
    def backward_surprisal(self) -> Doubles | None:
        """The same, read backward. [N]"""
        return None if self.backward is None else -self.backward / math.log(2)

    @property
    def totals(self) -> list[Likelihood]:
        """One for each sentence. Tokens without a score are not counted, so bits per byte need unknown="score"."""
        return [self._total(number) for number in range(len(self.sentences))]

    @property
    def total(self) -> Likelihood:
        """The likelihood of the whole text."""
        return sum(self.totals, Likelihood(backward=None if self.backward is None else 0.0))

    def _total(self, number: int) -> Likelihood:
        begin, end = self.sentences[number]
        backward = None
        if self.backward is not None and self.begins is not None:
            backward = float(np.nansum(self.backward[begin:end]) + self.begins[number])
        return Likelihood(
            forward=float(np.nansum(self.forward[begin:end]) + self.ends[number]),
            backward=backward,
            predictions=int(np.isfinite(self.forward[begin:end]).sum()) + 1,
            tokens=end - begin,
            unknown=int(self.unknown[begin:end].sum()),
            bytes=written_bytes(self.text[self.offsets[begin, 0] : self.offsets[end - 1, 1]] if end > begin else ""),
        )

    def words(self) -> list[ScoredWord]:
        """One row for each word between spaces, as in reading-time data."""
        return list(scored_words(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, sentence by sentence; null for a token without a score."""
        sentences = []
        for number, ((begin, end), total) in enumerate(zip(self.sentences, self.totals, strict=True)):
            here = slice(begin, end)
            sentences.append(
                {
                    "tokens": self.tokens[here],
                    "offsets": self.offsets[here].tolist(),
                    "unknown": self.unknown[here].tolist(),
                    "forward": _or_null(self.forward, here),
                    "end": float(self.ends[number]),
                    "backward": _or_null(self.backward, here),
                    "begin": None if self.begins is None else float(self.begins[number]),
                    "surprisal": _or_null(self.surprisal, here),
                    "backward_surprisal": _or_null(self.backward_surprisal, here),
                    "entropy": _or_null(self.entropy, here),
                    "backward_entropy": _or_null(self.backward_entropy, here),
                    "total": {
                        "forward": total.forward,
                        "backward": total.backward,
                        "predictions": total.predictions,
                        "unknown": total.unknown,
                    },
                }
            )
        return {"text": self.text, "sentences": sentences}

    def __repr__(self) -> str:
        forward, backward = self.total.perplexities
        shown = f"perplexity {forward:.1f} forward" + (f", {backward:.1f} backward" if backward is not None else "")
        unknown = f", {self.total.unknown} unknown" if self.total.unknown else ""
        return f"Score({len(self.tokens)} tokens{unknown}, {len(self.sentences)} sentences, {shown})"


@overload
def score(elmo: Elmo, text: str, unknown: Unknown = "empty") -> Score: ...


@overload
def score(
    elmo: Elmo, text: list[Item] | list[str] | list[list[str]] | tuple[Item, ...], unknown: Unknown = "empty"
) -> list[Score]: ...


def score(elmo: Elmo, text: str | Sequence[Item], unknown: Unknown = "empty") -> Score | list[Score]:
    """A text → its ``Score``; a list of texts, or of sentences already split into tokens → a list of scores."""
    if isinstance(text, str):
        return next(score_stream(elmo, [text], unknown))
    return list(score_stream(elmo, text, unknown))


def score_stream(elmo: Elmo, texts: Iterable[Item], unknown: Unknown = "empty") -> Iterator[Score]:
    """Any iterable of texts, or of sentences already split into tokens → their scores, in constant memory.

    ``unknown="score"`` gives a word outside the vocabulary the probability of ``<UNK>``.
    """
    if unknown not in get_args(Unknown):
        raise ConfigError(f'unknown is {unknown!r}, but it can be "empty" or "score"')
    output_layer(elmo.stored)  # a model that cannot score fails before anything is read
    return _score_windows(elmo, texts, unknown)


def _score_windows(elmo: Elmo, texts: Iterable[Item], unknown: Unknown) -> Iterator[Score]:
    prepared = (elmo.prepare(item) for item in texts)
    for window in windows(prepared, lambda text: text.positions, WINDOW_POSITIONS):
        yield from _score_together(elmo, window, unknown)


def _score_together(elmo: Elmo, texts: list[PreparedText], unknown: Unknown) -> Iterator[Score]:
    sentences = [sentence for text in texts for sentence in text.units]
    outputs = read_outputs(elmo, sentences)
    ahead = [h.forward[:-1] for h in outputs]  # [N+1, D] each: w1 … wN </S>
    forward = iter(_predicted(elmo, ahead, [[*sentence, END] for sentence in sentences]))
    backward: Iterator[_Predicted] | None = None
    if elmo.config.bidirectional:
        back = [h.backward[1:] for h in outputs if h.backward is not None]  # [N+1, D] each: <S> w1 … wN
        backward = iter(_predicted(elmo, back, [[BEGIN, *sentence] for sentence in sentences]))
    for text in texts:
        count = len(text.sentences)
        both = list(islice(forward, count)), None if backward is None else list(islice(backward, count))
        yield _score_of(elmo, text, *both, unknown)


def _score_of(
    elmo: Elmo, text: PreparedText, forward: list[_Predicted], backward: list[_Predicted] | None, unknown: Unknown
) -> Score:
    _, vocabulary = output_layer(elmo.stored)
    tokens = list(chain.from_iterable(text.units))
    not_known = np.array([vocabulary.find(token) is None or token == UNKNOWN for token in tokens], dtype=np.bool_)

    def shown(parts: list[Doubles]) -> Doubles:
        found = _joined(parts)
        return found if unknown == "score" else np.where(not_known, np.nan, found)

    return Score(
        text=text.text,
        tokens=tokens,
        offsets=text.unit_offsets,
        sentences=bounds_of(text.units),
        unknown=not_known,
        forward=shown([p.targets[:-1] for p in forward]),
        backward=None if backward is None else shown([p.targets[1:] for p in backward]),
        ends=_joined([p.targets[-1:] for p in forward]),
        begins=None if backward is None else _joined([p.targets[:1] for p in backward]),
        entropy=_joined([p.entropies[:-1] for p in forward]) / math.log(2),
        backward_entropy=None if backward is None else _joined([p.entropies[1:] for p in backward]) / math.log(2),
    )


@dataclass(frozen=True, slots=True)
class _Predicted:
    """One sentence in one direction, in nats."""

    targets: Doubles  # [N+1]
    entropies: Doubles  # [N+1]


def _predicted(elmo: Elmo, outputs: list[Floats], targets: list[list[str]]) -> list[_Predicted]:
    """The predictions of sentences, from their outputs [N+1, D] in one direction and the tokens to predict."""
    if not outputs:
        return []
    softmax, vocabulary = output_layer(elmo.stored)
    ids = np.array(vocabulary.ids(chain.from_iterable(targets)), np.int64)
    found = predict(softmax, np.concatenate(outputs), ids, elmo.engine.pool)
    stops = np.cumsum([len(tokens) for tokens in targets])[:-1]
    each = (np.split(values.astype(np.float64), stops) for values in (found.targets, found.entropies))
    return [_Predicted(*pair) for pair in zip(*each, strict=True)]


def _or_null(values: Doubles | None, here: slice) -> list[float | None] | None:
    return None if values is None else [None if math.isnan(value) else value for value in values[here].tolist()]


def _joined(parts: list[Doubles]) -> Doubles:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ScoredWord:
    """A word between spaces; scores are in bits, None if missing."""

    sentence: int  #: number of its sentence in the text, from 0
    number: int  #: number of the word in its sentence, from 0
    word: str  #: as written in the text
    begin: int  #: offsets into the text
    end: int
    tokens: int
    unknown: bool  #: whether any of its tokens is unknown to the model
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
    """[start, end) of each run of tokens with no white space between them."""
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
