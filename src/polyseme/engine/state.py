"""What the layers of a biLM remember of sentences that they have read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig

Floats = npt.NDArray[np.float32]


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
