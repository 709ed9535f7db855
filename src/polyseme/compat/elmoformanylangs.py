"""ELMoForManyLangs' Embedder.

from polyseme.compat.elmoformanylangs import Embedder
Embedder("161").sents2elmo([["오늘", "날씨"], ["좋다"]])     # a list of [N, W]

As in the original, sentences are read longest first, and the state of every row is carried from batch to batch and
from call to call. The original reads several batches in random order; here their order is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.compat.carried import CarriedReading
from polyseme.errors import ConfigError
from polyseme.formats.detect import load

Floats = npt.NDArray[np.float32]


class Embedder:
    """A model of ELMoForManyLangs, or any other that polyseme loads: a folder, a zip, ``manylangs:ko``."""

    def __init__(self, model_dir: str | Path, batch_size: int = 64) -> None:
        self.model_dir, self.batch_size = model_dir, batch_size
        self._reading = CarriedReading(load(model_dir))

    def sents2elmo(self, sents: Sequence[Sequence[str]], output_layer: int = -1) -> list[Floats]:
        """Sentences of tokens → one array each: [N, W] of a layer or the mean of all (-1), [L+1, N, W] of all (-2)."""
        top = self._reading.config.layers
        if not -2 <= output_layer <= top:
            raise ConfigError(f"output_layer is {output_layer}, but should be a layer from 0 to {top}, -1 or -2")
        order = sorted(range(len(sents)), key=lambda number: -len(sents[number]))  # equal lengths keep their order
        found: dict[int, Floats] = {}
        for begin in range(0, len(order), self.batch_size):
            numbers = order[begin : begin + self.batch_size]
            layers = self._reading.read([sents[number] for number in numbers])
            found.update(zip(numbers, layers, strict=True))
        return [_chosen(found[number], output_layer) for number in range(len(sents))]


def _chosen(layers: Floats, output_layer: int) -> Floats:
    """[L+1, N, W] → the layer, mean or layers chosen by ``output_layer``."""
    if output_layer == -2:
        return layers
    chosen: Floats = layers.mean(axis=0) if output_layer == -1 else layers[output_layer]
    return chosen
