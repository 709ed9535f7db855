"""Which sentences run together, and where each of their positions stands while they do.

Sentences of like length share a batch, the longest first. A batch is packed time-major: slot block t holds position t
of the sentences that have one, so the active set shrinks from step to step and no step computes padding:

    a b c d        lengths 4, 2, 1        slots   a e g | b f | c | d        active  3 2 1 1
    e f
    g

Read backwards, each sentence is reversed within its own length; the active counts are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

#: Sentences in a batch: with more rows a matrix product gets no faster, with fewer than the second it gets slower.
MOST_SENTENCES, FEWEST_SENTENCES = 64, 8
#: Positions in a batch, so that long sentences do not make a large one.
MOST_POSITIONS = 8192


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
