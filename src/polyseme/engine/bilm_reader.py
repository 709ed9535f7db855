"""What an engine offers, on whatever device it reads: sentences of tokens in, the layers of the biLM out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.engine.state import ReadingState
from polyseme.jobs.progress import Work

Floats = npt.NDArray[np.float32]


class BiLMReader(ABC):
    """A biLM that reads sentences; a subclass says how."""

    config: BiLMConfig

    def encode(
        self,
        sentences: Sequence[Sequence[str]],
        start: ReadingState | None = None,
        *,
        keep_boundaries: bool = False,
        progress: Work | None = None,
    ) -> list[Floats]:
        """Sentences of tokens → for each, its layers [L+1, N, W] ([L+1, N+2, W] with ``keep_boundaries``).

        ``start`` is the state each sentence starts from, one row per sentence; by default zero. ``progress`` is told
        positions as they are done.
        """
        return self._read(sentences, start, None, keep_boundaries, progress)

    def encode_carrying(
        self,
        sentences: Sequence[Sequence[str]],
        start: ReadingState | None = None,
        *,
        keep_boundaries: bool = False,
        progress: Work | None = None,
    ) -> tuple[list[Floats], ReadingState]:
        """The same, and the state after each sentence."""
        final = ReadingState.zero(self.config, len(sentences))
        return self._read(sentences, start, final, keep_boundaries, progress), final

    @abstractmethod
    def _read(
        self,
        sentences: Sequence[Sequence[str]],
        start: ReadingState | None,
        final: ReadingState | None,  #: filled with the states after the sentences, where they are wanted
        keep_boundaries: bool,
        progress: Work | None,
    ) -> list[Floats]: ...
