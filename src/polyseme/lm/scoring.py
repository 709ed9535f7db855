"""How likely each token of a text is, given what stands before it and given what stands after it.

A sentence of n tokens has n + 1 predictions in each direction: its tokens, and the boundary that the direction ends
at, ``</S>`` forward and ``<S>`` backward. The sum of one direction is the log-probability of the sentence.

A word that the softmax does not have shares the probability of ``<UNK>`` with all other such words. That figure says
nothing about the word, so it is left empty unless it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import Floats, joined_offsets
from polyseme.errors import ConfigError, InputError
from polyseme.formats.output_layer import output_layer
from polyseme.jobs.windows import windows
from polyseme.lm.outputs import read
from polyseme.lm.word_probabilities import predict
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN

Doubles = npt.NDArray[np.float64]
#: A text, or one sentence that is split into tokens already.
Item = str | Sequence[str]

#: What a word outside the vocabulary gets: nothing, or the probability of <UNK>.
Unknown = Literal["empty", "score"]

#: Positions that are read together; the result does not depend on it.
WINDOW_POSITIONS = 8192


@dataclass(frozen=True, slots=True)
class Total:
    """Log-probabilities (nats) of some sentences, boundaries included, without tokens that have no figure."""

    forward: float
    backward: float | None
    predictions: int  #: of one direction
    unknown: int = 0  #: tokens that the model does not know

    @property
    def perplexities(self) -> tuple[float, float | None]:
        """Forward and backward."""
        count = max(1, self.predictions)
        backward = None if self.backward is None else _perplexity(-self.backward / count)
        return _perplexity(-self.forward / count), backward


@dataclass(frozen=True, eq=False)
class Score:
    """The log-probabilities (nats) of one text. Position n of the token arrays belongs to ``tokens[n]``.

    What is backward is None for a model that reads forward only. ``forward`` and ``backward`` are NaN where ``unknown``
    is true, unless the text was scored with ``unknown="score"``.
    """

    text: str
    tokens: list[str]
    offsets: npt.NDArray[np.int64]  # [N, 2] into the text
    sentences: list[tuple[int, int]]  #: first token and end of each of the S sentences
    unknown: npt.NDArray[np.bool_]  # [N] not in the vocabulary
    forward: Doubles  # [N] ln p(token | what stands before it)
    backward: Doubles | None  # [N] ln p(token | what stands after it)
    ends: Doubles  # [S] ln p(</S> | the sentence)
    begins: Doubles | None  # [S] ln p(<S> | the sentence)
    entropy: Doubles  # [N] bits: how open the prediction was before the token was seen, read forward
    backward_entropy: Doubles | None  # [N] the same, read backward

    @property
    def surprisal(self) -> Doubles:
        """−log2 p of each token, in bits, read forward; NaN for one without a figure. [N]"""
        return -self.forward / math.log(2)

    @property
    def backward_surprisal(self) -> Doubles | None:
        """The same, read backward. [N]"""
        return None if self.backward is None else -self.backward / math.log(2)

    @property
    def totals(self) -> list[Total]:
        """One for each sentence."""
        return [self._total([number]) for number in range(len(self.sentences))]

    @property
    def total(self) -> Total:
        """Of the whole text."""
        return self._total(range(len(self.sentences)))

    def _total(self, numbers: Iterable[int]) -> Total:
        forward, backward, predictions, unknown = 0.0, 0.0, 0, 0
        for number in numbers:
            begin, end = self.sentences[number]
            predictions += int(np.isfinite(self.forward[begin:end]).sum()) + 1
            unknown += int(self.unknown[begin:end].sum())
            forward += float(np.nansum(self.forward[begin:end]) + self.ends[number])
            if self.backward is not None and self.begins is not None:
                backward += float(np.nansum(self.backward[begin:end]) + self.begins[number])
        return Total(forward, backward if self.backward is not None else None, predictions, unknown)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, sentence by sentence; null for a token without a figure."""
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
    """A text → its ``Score``; a list of texts, or of sentences that are split into tokens → a list of them."""
    if isinstance(text, str):
        return next(score_stream(elmo, [text], unknown))
    return list(score_stream(elmo, text, unknown))


def score_stream(elmo: Elmo, texts: Iterable[Item], unknown: Unknown = "empty") -> Iterator[Score]:
    """Any iterable of texts, or of sentences that are split into tokens → their scores, in constant memory.

    ``unknown="score"`` gives a word outside the vocabulary the probability of ``<UNK>``.
    """
    if unknown not in get_args(Unknown):
        raise ConfigError(f'unknown is {unknown!r}, but it can be "empty" or "score"')
    output_layer(elmo.stored)  # a model that cannot score says so before anything is read
    return _score_windows(elmo, texts, unknown)


def _score_windows(elmo: Elmo, texts: Iterable[Item], unknown: Unknown) -> Iterator[Score]:
    split = (_split(elmo, item) for item in texts)
    for window in windows(split, lambda text: text.positions, WINDOW_POSITIONS):
        yield from _score_together(elmo, window, unknown)


@dataclass(frozen=True, slots=True)
class _ScoredText:
    """One input, split."""

    text: str
    sentences: list[list[str]]
    offsets: npt.NDArray[np.int64]  # [N, 2]

    @property
    def positions(self) -> int:
        return sum(len(sentence) + 2 for sentence in self.sentences)


def _split(elmo: Elmo, item: Item) -> _ScoredText:
    if isinstance(item, str):
        split = elmo.split(item)
        offsets = np.array(list(chain.from_iterable(s.offsets for s in split)), dtype=np.int64).reshape(-1, 2)
        return _ScoredText(item, [sentence.tokens for sentence in split], offsets)
    if not isinstance(item, Sequence) or not all(isinstance(token, str) for token in item):
        raise InputError(f"a text or a list of tokens was expected, but {str(item)[:60]!r} is a {type(item).__name__}")
    if (parted := elmo.part(item)) is not None:
        return _ScoredText(" ".join(item), [parted.units], np.array(parted.offsets, np.int64).reshape(-1, 2))
    tokens = list(item)
    return _ScoredText(" ".join(tokens), [tokens], joined_offsets(tokens))


def _score_together(elmo: Elmo, texts: list[_ScoredText], unknown: Unknown) -> Iterator[Score]:
    sentences = [sentence for text in texts for sentence in text.sentences]
    outputs = read(elmo, sentences)
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
    elmo: Elmo, text: _ScoredText, forward: list[_Predicted], backward: list[_Predicted] | None, unknown: Unknown
) -> Score:
    _, vocabulary = output_layer(elmo.stored)
    tokens = list(chain.from_iterable(text.sentences))
    stops = np.cumsum([len(sentence) for sentence in text.sentences], dtype=np.int64).tolist()
    not_known = np.array([token not in vocabulary or token == UNKNOWN for token in tokens], dtype=np.bool_)

    def shown(parts: list[Doubles]) -> Doubles:
        found = _joined(parts)
        return found if unknown == "score" else np.where(not_known, np.nan, found)

    return Score(
        text=text.text,
        tokens=tokens,
        offsets=text.offsets,
        sentences=list(zip([0, *stops[:-1]], stops, strict=False)),
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
    """For each sentence its outputs [N+1, D] in one direction and the tokens that they should predict."""
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


def _perplexity(loss: float) -> float:
    return math.exp(loss) if loss < 700 else math.inf
