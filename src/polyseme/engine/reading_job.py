"""What one direction reads of a batch, and where it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.engine.bilm_reader import Floats, ReadingRequest
from polyseme.engine.plan import Batch, Places


@dataclass(frozen=True, slots=True)
class ReadingJob:
    """One job: a batch in one direction."""

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
