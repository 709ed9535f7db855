"""What an engine offers, on whatever device it reads: sentences of tokens in, the layers of the biLM out.

No vector leaves it that is not made of finite numbers, or whose length is not finite. Weights can be finite, and still
so large that a product of them is not: what can be seen of that at load is refused there, the rest here.

Sentences of like length share a batch, the longest first. A batch is packed time-major: slot block t holds position t
of the sentences that have one, so the active set shrinks from step to step and no step computes padding:

    a b c d        lengths 4, 2, 1        slots   a e g | b f | c | d        active  3 2 1 1
    e f
    g

Read backwards, each sentence is reversed within its own length; the active counts are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.errors import FormatError
from polyseme.jobs.progress import Work

Places = npt.NDArray[np.int64]

#: Sentences in a batch: with more rows a matrix product gets no faster, with fewer than the second it gets slower.
MOST_SENTENCES, FEWEST_SENTENCES = 64, 8
#: Positions in a batch, so that long sentences do not make a large one.
MOST_POSITIONS = 8192
Floats = npt.NDArray[np.float32]
Sentences = Sequence[Sequence[str]]

#: The squares of larger values cannot be added up in float32. Real vectors stay below 100.
LARGEST_VALUE = 1e15


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences that run together, by their numbers in the call, longest first."""

    sentences: list[int]
    lengths: list[int]  #: positions of each, boundaries included

    @property
    def positions(self) -> int:
        return sum(self.lengths)

    def halves(self) -> tuple[Batch, Batch]:
        """Two smaller batches, for a device without room for this one."""
        middle = len(self.sentences) // 2
        return (
            Batch(self.sentences[:middle], self.lengths[:middle]),
            Batch(self.sentences[middle:], self.lengths[middle:]),
        )

    def active(self) -> list[int]:
        """How many sentences have a position t, for every t."""
        lengths = np.array(self.lengths)
        ended = np.bincount(lengths, minlength=lengths[0] + 1)  # ended[t]: sentences without a position t, with t − 1
        active: list[int] = (len(lengths) - np.cumsum(ended)[:-1]).tolist()
        return active

    def places(self, backward: bool) -> Places:
        """For each slot the position it holds; positions are counted sentence by sentence."""
        lengths = np.array(self.lengths)
        starts = np.cumsum(lengths) - lengths
        active = np.array(self.active())
        step = np.repeat(np.arange(len(active)), active)
        row = np.arange(len(step)) - np.repeat(np.cumsum(active) - active, active)
        places: Places = starts[row] + (lengths[row] - 1 - step if backward else step)
        return places

    def targets(self, keep_boundaries: bool) -> Places:
        """For each position the row it goes to when all kept positions are counted; −1: it is not kept."""
        if keep_boundaries:
            return np.arange(self.positions)
        ends = np.cumsum(self.lengths)
        kept = np.ones(self.positions, dtype=bool)
        kept[ends - 1] = kept[ends - self.lengths] = False
        return np.where(kept, np.cumsum(kept) - 1, -1)


def plan_batches(lengths: Sequence[int], parts: int = 1, most: int = MOST_POSITIONS) -> list[Batch]:
    """Every sentence, given by its length, in a batch of at most ``most`` positions or alone; longest first.

    There are at least ``parts`` batches, unless they would get too small.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    largest = min(MOST_SENTENCES, max(FEWEST_SENTENCES, -(-len(lengths) // parts)))
    batches: list[Batch] = []
    members: list[int] = []
    positions = 0
    for number in order:
        if members and (len(members) == largest or positions + lengths[number] > most):
            batches.append(Batch(members, [lengths[m] for m in members]))
            members, positions = [], 0
        members.append(number)
        positions += lengths[number]
    if members:
        batches.append(Batch(members, [lengths[m] for m in members]))
    return batches


@dataclass(frozen=True, slots=True)
class ReadingState:
    """The state of every layer and direction, for each sentence."""

    h: Floats  # [directions, L, B, D]
    c: Floats  # [directions, L, B, H]

    @classmethod
    def zero(cls, config: BiLMConfig, sentences: int) -> ReadingState:
        """The state of a model that has read nothing."""
        shape = (config.directions, config.layers, sentences)
        return cls(np.zeros((*shape, config.projection), np.float32), np.zeros((*shape, config.cell), np.float32))

    def rows(self, count: int) -> ReadingState:
        """The first ``count`` sentences, zeros where there are fewer."""
        fill = ((0, 0), (0, 0), (0, max(0, count - self.h.shape[2])), (0, 0))
        return ReadingState(np.pad(self.h[:, :, :count], fill), np.pad(self.c[:, :, :count], fill))

    def expand(self, count: int) -> ReadingState:
        """One sentence's state, for ``count`` sentences."""
        return ReadingState(*(np.broadcast_to(s, (*s.shape[:2], count, s.shape[3])) for s in (self.h, self.c)))

    def replace_rows(self, new: ReadingState) -> ReadingState:
        """``new`` in the first rows, what is here in the rows below: how the originals carry state."""
        count = new.h.shape[2]
        pairs = ((new.h, self.h), (new.c, self.c))
        return ReadingState(*(np.concatenate([first, rest[:, :, count:]], axis=2) for first, rest in pairs))


Start = ReadingState | None  # None: the zero state


@dataclass(frozen=True, slots=True)
class ReadingRequest:
    """What is to be read, and how."""

    sentences: Sentences
    start: Start
    final: ReadingState | None  #: filled with the states after the sentences, where they are wanted
    keep_boundaries: bool
    progress: Work | None


@dataclass(frozen=True, slots=True)
class ReadingJob:
    """What one direction reads of a batch of a request, and where it writes."""

    batch: Batch
    direction: int
    rows: Places  #: for each position of the call, sentence by sentence, its token's row in ``table``
    begins: Sequence[int]  #: where each sentence of the call begins in ``rows``
    table: Floats  # [·, D]
    layers: Sequence[Floats]  #: for each sentence of the call [L+1, N, W], written to
    call: ReadingRequest

    def batch_rows(self) -> Places:
        """For each position of the batch, sentence by sentence, its token's row in ``table``."""
        parts = zip((self.begins[number] for number in self.batch.sentences), self.batch.lengths, strict=True)
        return np.concatenate([self.rows[begin : begin + length] for begin, length in parts])

    def start_states(self) -> tuple[Floats, Floats] | None:
        """h [L, sentences, D] and c [L, sentences, H] before the batch."""
        if self.call.start is None:
            return None
        rows = self.batch.sentences
        return self.call.start.h[self.direction][:, rows], self.call.start.c[self.direction][:, rows]

    def keep_states(self, h: Floats, c: Floats) -> None:
        """The same after the last position of each sentence."""
        if self.call.final is not None:
            self.call.final.h[self.direction][:, self.batch.sentences] = h
            self.call.final.c[self.direction][:, self.batch.sentences] = c


class BiLMReader(ABC):
    """A biLM that reads sentences; a subclass says how."""

    config: BiLMConfig

    def encode(
        self, sentences: Sentences, start: Start = None, *, keep_boundaries: bool = False, progress: Work | None = None
    ) -> list[Floats]:
        """Sentences of tokens → for each, its layers [L+1, N, W] ([L+1, N+2, W] with ``keep_boundaries``).

        ``start`` is the state each sentence starts from, one row per sentence; by default zero. ``progress`` is told
        positions as they are done.
        """
        return self._checked(ReadingRequest(sentences, start, None, keep_boundaries, progress))

    def encode_carrying(
        self, sentences: Sentences, start: Start = None, *, keep_boundaries: bool = False, progress: Work | None = None
    ) -> tuple[list[Floats], ReadingState]:
        """The same, and the state after each sentence."""
        final = ReadingState.zero(self.config, len(sentences))
        return self._checked(ReadingRequest(sentences, start, final, keep_boundaries, progress)), final

    def keeping_tokens(self, most: int) -> AbstractContextManager[None]:
        """Within the block, the vectors of at most so many tokens are kept for later calls, if any are kept at all."""
        return nullcontext()

    def _checked(self, request: ReadingRequest) -> list[Floats]:
        layers = self._read(request)
        refuse_infinite(layers, request.sentences, request.keep_boundaries)
        return layers

    @abstractmethod
    def _read(self, request: ReadingRequest) -> list[Floats]:
        """The layers of each sentence."""


def refuse_infinite(layers: Sequence[Floats], sentences: Sequence[Sequence[str]], boundaries: bool) -> None:
    """``layers``: of each sentence [L+1, N, W], or [L+1, N+2, W] with its boundaries."""
    for values, sentence in zip(layers, sentences, strict=True):
        if values.size and not (values.max() < LARGEST_VALUE and values.min() > -LARGEST_VALUE):  # NaN is neither
            layer, place, _ = np.argwhere(~(np.abs(values) < LARGEST_VALUE))[0].tolist()
            tokens = ["the sentence's begin", *map(repr, sentence), "the sentence's end"]
            token = tokens[place if boundaries else place + 1]
            raise FormatError(
                f"the vector of {token[:60]} in layer {layer} is not made of finite numbers, or of far too large ones: "
                "weights of the model are damaged; get the model again"
            )
