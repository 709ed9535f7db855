"""Reads batches like the original programs: each row starts from the state in which the same row ended before.

Tokens are read as given, without composing their code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.engine import Engine
from polyseme.formats.model import StoredModel
from polyseme.text.vocabulary import Indexer

if TYPE_CHECKING:
    from polyseme.nn.device_engine import DeviceEngine

Floats = npt.NDArray[np.float32]


class AsSpelled(Indexer):
    """An indexer that does not compose: "é" and "e" with an accent are different tokens, as in the originals."""

    __slots__ = ()

    def row(self, token: str) -> list[int]:
        ids = [self.words.id(token)] if self.words else []
        return ids + self.characters.row(token) if self.characters else ids


class CarriedReading:
    """A model, and the states of the rows of its batches. A row without a sentence keeps its state."""

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
        """Start again from the zero state."""
        self._rows = None


def _on_device(stored: StoredModel, device: str) -> DeviceEngine:
    from polyseme.nn.device_engine import DeviceEngine  # the CPU needs no PyTorch

    return DeviceEngine(stored, device)
