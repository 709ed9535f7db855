"""What stands around each token of an index, read off the vectors that it holds anyway.

A token's place is the forward state of the token before it and the backward state of the token after it
(`Encoding.place`), and both are halves of those tokens' vectors in the top layer. So places take no room of their own:
an index that holds the top layer holds them. At the ends of a sentence stand the states of its boundaries, which all
sentences share.

    row          n − 1            n            n + 1
    top layer    [ fwd | bwd ]    [ fwd | bwd ]    [ fwd | bwd ]
    place of n     ───                                  ───             added: both speak to one softmax
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats, unit


@dataclass(frozen=True, eq=False)
class StoredPlaces:
    """The direction of every token's place, computed for the rows that are asked for: ``places[rows]`` → [n, D]."""

    units: npt.NDArray[np.float16]  # [tokens, W] of the top layer
    norms: npt.NDArray[np.float32]  # [tokens]
    starts: npt.NDArray[np.uint64]  # [sentences + 1] the first token of each sentence
    edges: Floats  # [W]: the forward state at the beginning of a sentence, the backward state at its end
    directions: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.units), self.units.shape[1] // self.directions

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, rows: slice | npt.NDArray[np.integer[Any]]) -> Floats:
        """Each of length one. float32 [n, D]"""
        numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        size = self.shape[1]
        sentence = np.searchsorted(self.starts, numbers.astype(np.uint64), side="right") - 1
        first = self.starts[sentence].astype(np.int64) == numbers
        last = self.starts[sentence + 1].astype(np.int64) == numbers + 1
        places = np.where(first[:, None], self.edges[:size], self._states(numbers - 1, slice(size)))
        if self.directions == 2:
            places += np.where(last[:, None], self.edges[size:], self._states(numbers + 1, slice(size, None)))
        return unit(places)

    def _states(self, rows: npt.NDArray[np.int64], half: slice) -> Floats:
        """One direction of the tokens; of a row outside, any. [n, D]"""
        inside = np.clip(rows, 0, len(self) - 1)
        return np.asarray(self.units[inside, half], np.float32) * np.asarray(self.norms[inside])[:, None]
