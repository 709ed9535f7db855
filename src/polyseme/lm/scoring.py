"""How likely each token of a text is, given what stands before it and given what stands after it.

A sentence of n tokens has n + 1 predictions in each direction: its tokens, and the boundary that the direction ends
at, ``</S>`` forward and ``<S>`` backward. The sum of one direction is the log-probability of the sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import Floats, joined_offsets
from polyseme.errors import InputError
from polyseme.formats.output_layer import output_layer
from polyseme.jobs.windows import windows
from polyseme.lm.outputs import read
from polyseme.lm.word_probabilities import target_log_probabilities
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN

Doubles = npt.NDArray[np.float64]
#: A text, or one sentence that is split into tokens already.
Item = str | Sequence[str]

#: Positions that are read together; the result does not depend on it.
WINDOW_POSITIONS = 8192


@dataclass(frozen=True, slots=True)
class Total:
    """Log-probabilities (nats) of some sentences, boundaries included."""

    forward: float
    backward: float | None
    predictions: int  #: of one direction

    @property
    def perplexities(self) -> tuple[float, float | None]:
        """Forward and backward."""
        count = max(1, self.predictions)
        backward = None if self.backward is None else _perplexity(-self.backward / count)
        return _perplexity(-self.forward / count), backward


@dataclass(frozen=True, eq=False)
class Score:
    """The log-probabilities (nats) of one text. Position n of the token arrays belongs to ``tokens[n]``.

    What is backward is None for a model that reads forward only.
    """

    text: str
    tokens: list[str]
    offsets: npt.NDArray[np.int64]  # [N, 2] into the text
    sentences: list[tuple[int, int]]  #: first token and end of each of the S sentences
    unknown: npt.NDArray[np.bool_]  # [N] not in the vocabulary: what is scored is <UNK>
    forward: Doubles  # [N] ln p(token | what stands before it)
    backward: Doubles | None  # [N] ln p(token | what stands after it)
    ends: Doubles  # [S] ln p(</S> | the sentence)
    begins: Doubles | None  # [S] ln p(<S> | the sentence)

    @property
    def surprisal(self) -> Doubles:
        """−log2 p of each token, in bits, read forward. [N]"""
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
        forward, backward, predictions = 0.0, 0.0, 0
        for number in numbers:
            begin, end = self.sentences[number]
            predictions += end - begin + 1
            forward += float(self.forward[begin:end].sum() + self.ends[number])
            if self.backward is not None and self.begins is not None:
                backward += float(self.backward[begin:end].sum() + self.begins[number])
        return Total(forward, backward if self.backward is not None else None, predictions)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, sentence by sentence."""
        sentences = []
        for number, ((begin, end), total) in enumerate(zip(self.sentences, self.totals, strict=True)):
            here = slice(begin, end)
            sentences.append(
                {
                    "tokens": self.tokens[here],
                    "unknown": self.unknown[here].tolist(),
                    "forward": self.forward[here].tolist(),
                    "end": float(self.ends[number]),
                    "backward": None if self.backward is None else self.backward[here].tolist(),
                    "begin": None if self.begins is None else float(self.begins[number]),
                    "surprisal": self.surprisal[here].tolist(),
                    "total": {"forward": total.forward, "backward": total.backward},
                }
            )
        return {"text": self.text, "sentences": sentences}

    def __repr__(self) -> str:
        forward, backward = self.total.perplexities
        shown = f"perplexity {forward:.1f} forward" + (f", {backward:.1f} backward" if backward is not None else "")
        return f"Score({len(self.tokens)} tokens, {len(self.sentences)} sentences, {shown})"


@overload
def score(elmo: Elmo, text: str) -> Score: ...


@overload
def score(elmo: Elmo, text: list[Item] | list[str] | list[list[str]] | tuple[Item, ...]) -> list[Score]: ...


def score(elmo: Elmo, text: str | Sequence[Item]) -> Score | list[Score]:
    """A text → its ``Score``; a list of texts, or of sentences that are split into tokens → a list of them."""
    if isinstance(text, str):
        return next(score_stream(elmo, [text]))
    return list(score_stream(elmo, text))


def score_stream(elmo: Elmo, texts: Iterable[Item]) -> Iterator[Score]:
    """Any iterable of texts, or of sentences that are split into tokens → their scores, in constant memory."""
    output_layer(elmo.stored)  # a model that cannot score says so before anything is read
    return _score_windows(elmo, texts)


def _score_windows(elmo: Elmo, texts: Iterable[Item]) -> Iterator[Score]:
    split = (_split(elmo, item) for item in texts)
    for window in windows(split, lambda text: text.positions, WINDOW_POSITIONS):
        yield from _score_together(elmo, window)


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


def _score_together(elmo: Elmo, texts: list[_ScoredText]) -> Iterator[Score]:
    sentences = [sentence for text in texts for sentence in text.sentences]
    outputs = read(elmo, sentences)
    ahead = [h.forward[:-1] for h in outputs]  # [N+1, D] each: w1 … wN </S>
    forward = iter(_log_probabilities(elmo, ahead, [[*sentence, END] for sentence in sentences]))
    backward: Iterator[Doubles] | None = None
    if elmo.config.bidirectional:
        back = [h.backward[1:] for h in outputs if h.backward is not None]  # [N+1, D] each: <S> w1 … wN
        backward = iter(_log_probabilities(elmo, back, [[BEGIN, *sentence] for sentence in sentences]))
    for text in texts:
        count = len(text.sentences)
        yield _score_of(
            elmo, text, list(islice(forward, count)), None if backward is None else list(islice(backward, count))
        )


def _score_of(elmo: Elmo, text: _ScoredText, forward: list[Doubles], backward: list[Doubles] | None) -> Score:
    _, vocabulary = output_layer(elmo.stored)
    tokens = list(chain.from_iterable(text.sentences))
    stops = np.cumsum([len(sentence) for sentence in text.sentences], dtype=np.int64).tolist()
    return Score(
        text=text.text,
        tokens=tokens,
        offsets=text.offsets,
        sentences=list(zip([0, *stops[:-1]], stops, strict=False)),
        unknown=np.array([token not in vocabulary or token == UNKNOWN for token in tokens], dtype=np.bool_),
        forward=_joined([p[:-1] for p in forward]),
        backward=None if backward is None else _joined([p[1:] for p in backward]),
        ends=_joined([p[-1:] for p in forward]),
        begins=None if backward is None else _joined([p[:1] for p in backward]),
    )


def _log_probabilities(elmo: Elmo, outputs: list[Floats], targets: list[list[str]]) -> list[Doubles]:
    """For each sentence its outputs [N+1, D] in one direction and the tokens they should predict → ln p. [N+1] each"""
    if not outputs:
        return []
    softmax, vocabulary = output_layer(elmo.stored)
    ids = np.array(vocabulary.ids(chain.from_iterable(targets)), np.int64)
    found = target_log_probabilities(softmax, np.concatenate(outputs), ids, elmo.engine.pool).astype(np.float64)
    return np.split(found, np.cumsum([len(tokens) for tokens in targets])[:-1])


def _joined(parts: list[Doubles]) -> Doubles:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float64)


def _perplexity(loss: float) -> float:
    return math.exp(loss) if loss < 700 else math.inf
