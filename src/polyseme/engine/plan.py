"""Which sentences run together, and where each of their positions stands while they do.

Sentences of like length share a batch, the longest first. A batch is packed time-major: slot block t holds position t
of the sentences that have one, so the active set shrinks from step to step and no step computes padding:

    a b c d        lengths 4, 2, 1        slots   a e g | b f | c | d        active  3 2 1 1
    e f
    g

Read backwards, each sentence is reversed within its own length; the active counts are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

#: Sentences in a batch: with more rows a matrix product gets no faster.
BATCH_SENTENCES = 64
#: Positions in a batch, so that long sentences do not make a large one.
BATCH_POSITIONS = 8192
#: Slots whose gates are computed at once, and the numbers that these may be: they should stay in the cache, and an
#: allocator that takes small blocks again and again gives large ones back to the system each time.
CHUNK_SLOTS, CHUNK_NUMBERS = 256, 4 * 2**20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive steps of a batch: ``active[i]`` sentences in the i-th, on slots ``start`` … ``stop``."""

    start: int
    stop: int
    active: list[int]


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

    def places(self) -> tuple[Places, Places]:
        """For each slot the position it holds, forward and backward; positions are counted sentence by sentence."""
        lengths = np.array(self.lengths)
        starts = np.cumsum(lengths) - lengths
        active = np.array(self.active())
        step = np.repeat(np.arange(len(active)), active)
        row = np.arange(len(step)) - np.repeat(np.cumsum(active) - active, active)
        return starts[row] + step, starts[row] + lengths[row] - 1 - step

    def targets(self, keep_boundaries: bool) -> tuple[Places, list[int]]:
        """For each position the output row it goes to, and the rows of each sentence.

        A boundary that is not kept goes to one row behind all others.
        """
        if keep_boundaries:
            return np.arange(self.positions), self.lengths
        sizes = [length - 2 for length in self.lengths]
        ends = np.cumsum(self.lengths)
        inside = np.ones(self.positions, dtype=bool)
        inside[ends - 1] = inside[ends - self.lengths] = False
        targets = np.full(self.positions, sum(sizes), dtype=np.int64)
        targets[inside] = np.arange(sum(sizes))
        return targets, sizes

    def chunks(self, width: int) -> Iterator[Chunk]:
        """All steps in order, in chunks of one step or more, bounded for gates of ``width`` numbers a slot."""
        slots = min(CHUNK_SLOTS, CHUNK_NUMBERS // width)
        start, stop, active = 0, 0, list[int]()
        for count in self.active():
            if active and stop - start + count > slots:
                yield Chunk(start, stop, active)
                start, active = stop, []
            stop += count
            active.append(count)
        yield Chunk(start, stop, active)


def plan_batches(lengths: Sequence[int], most: int = BATCH_POSITIONS) -> list[Batch]:
    """Every sentence, given by its length, in a batch of at most ``most`` positions or alone; longest first."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    batches: list[Batch] = []
    members: list[int] = []
    positions = 0
    for number in order:
        if members and (len(members) == BATCH_SENTENCES or positions + lengths[number] > most):
            batches.append(Batch(members, [lengths[m] for m in members]))
            members, positions = [], 0
        members.append(number)
        positions += lengths[number]
    if members:
        batches.append(Batch(members, [lengths[m] for m in members]))
    return batches
