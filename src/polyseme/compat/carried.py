"""Batches are read as the original programs read them: a row starts where the same row of the last batch ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.compat.as_spelled import AsSpelled
from polyseme.engine.engine import Engine
from polyseme.engine.state import ReadingState
from polyseme.formats.model import StoredModel

if TYPE_CHECKING:
    from polyseme.nn.device_engine import DeviceEngine

Floats = npt.NDArray[np.float32]


class CarriedReading:
    """A model, and what the rows of its batches remember. A row without a sentence keeps what it has."""

    def __init__(self, stored: StoredModel, device: str = "cpu") -> None:
        self.config = stored.config
        stored = replace(stored, indexer=AsSpelled(stored.indexer.characters, stored.indexer.words))
        self.engine = Engine(stored) if device == "cpu" else _on_device(stored, device)
        self._rows: ReadingState | None = None

    def read(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """The layers [L+1, N, W] of each sentence of a batch."""
        start = None if self._rows is None else self._rows.rows(len(sentences))
        layers, final = self.engine.encode_carrying(sentences, start)
        self._rows = final if self._rows is None else self._rows.replace_rows(final)
        return layers

    def forget(self) -> None:
        """Begin anew, from the zero state."""
        self._rows = None


def _on_device(stored: StoredModel, device: str) -> DeviceEngine:
    from polyseme.nn.device_engine import DeviceEngine  # the CPU needs no PyTorch

    return DeviceEngine(stored, device)
