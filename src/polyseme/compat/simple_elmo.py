"""simple_elmo's ElmoModel: ``load``, ``get_elmo_vectors``, ``get_elmo_vector_average``, ``warmup``.

from polyseme.compat.simple_elmo import ElmoModel
model = ElmoModel()
model.load("209.zip")
model.get_elmo_vectors([["a", "sentence"], ["another", "one", "."]])     # [2, 3, W]

Every call starts from the zero state and, by default, reads its first batch once as a warmup. Within a call, state is
carried from batch to batch. Padding has the values of bilm-tf, which are not zeros up to the longest sentence of the
batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.compat.carried import CarriedReading
from polyseme.engine.engine import Engine
from polyseme.errors import ConfigError, InputError
from polyseme.formats.detect import load

Doubles = npt.NDArray[np.float64]
Sentences = Sequence[Sequence[str]]


class ElmoModel:
    """A model, after ``load`` has read it."""

    def __init__(self) -> None:
        self.batch_size: int | None = None
        self.max_chars: int | None = None
        self.vector_size: int | None = None
        self.n_layers: int | None = None  #: including the token layer
        self._loaded: _Loaded | None = None

    def load(self, directory: str | Path, max_batch_size: int = 32, limit: int = 100, full: bool = False) -> str:
        """Load a folder or zip from NLPL, or any other model. ``limit`` limited a cache, and has no effect here."""
        if full:
            raise ConfigError(
                "full models are for substitutes; in polyseme, use Elmo.from_pretrained(…).substitutes(…)"
            )
        stored = load(directory)
        config = stored.config
        self.batch_size, self.vector_size, self.n_layers = max_batch_size, config.width, config.layers + 1
        self.max_chars = config.characters.max_characters if config.characters else None
        reading = CarriedReading(stored)
        padding = np.zeros((self.n_layers, 1, self.vector_size))
        if isinstance(reading.engine, Engine):
            padding[0, 0] = np.tile(reading.engine.encode_padding(), config.directions)
        self._loaded = _Loaded(reading, padding)
        return "The model is now loaded."

    def get_elmo_vectors(
        self, texts: Sentences, warmup: bool = True, layers: str = "average", session: object = None
    ) -> Doubles:
        """[S, N, W], or [S, L+1, N, W] for ``layers="all"``: N is the longest sentence, W the ``vector_size``."""
        batches = [_chosen(batch, layers) for batch in self._batches(texts, warmup, session)]
        first, longest = batches[0].shape, max(len(text) for text in texts)
        vectors = np.zeros((len(texts), *first[1:-2], longest, first[-1]))
        begin = 0
        for batch in batches:
            vectors[begin : begin + len(batch), ..., : batch.shape[-2], :] = batch
            begin += len(batch)
        return vectors

    def get_elmo_vector_average(
        self, texts: Sentences, warmup: bool = True, layers: str = "average", session: object = None
    ) -> Doubles:
        """[S, W], or [S, L+1, W] for ``layers="all"``: the mean over all positions of a batch, scaled to length one."""
        averages = []
        for batch in self._batches(texts, warmup, session):
            vectors = _chosen(batch, layers)
            if layers == "all":  # the original reshapes where it should transpose
                sentences, count, longest, width = vectors.shape
                vectors = vectors.reshape(sentences, longest, count, width)
            means = vectors.mean(axis=1)
            flat = np.linalg.norm(means.reshape(len(means), -1), axis=1)
            averages.append(means / flat.reshape(-1, *[1] * (means.ndim - 1)))
        return np.concatenate(averages)

    def warmup(self, sess: object, texts: Sentences) -> None:
        """Read the first batch of ``texts``; a call with a ``session`` continues from the state after it."""
        self._ready().reading.read(texts[: self.batch_size])

    def _batches(self, texts: Sentences, warmup: bool, session: object) -> list[Doubles]:
        """[B, L+1, N, W] of each batch, N its longest sentence; from the zero state unless there is a session."""
        ready = self._ready()
        if not texts:
            raise InputError("there are no texts; give at least one sentence of tokens")
        if not session:
            ready.reading.forget()
        if warmup:
            self.warmup(session, texts)
        size = self.batch_size or len(texts)
        return [ready.read(texts[begin : begin + size]) for begin in range(0, len(texts), size)]

    def _ready(self) -> _Loaded:
        if self._loaded is None:
            raise ConfigError("the model is not loaded yet; call load with its folder or zip first")
        return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model, and the values of its layers for padding."""

    reading: CarriedReading
    padding: Doubles  # [L+1, 1, W]

    def read(self, batch: Sentences) -> Doubles:
        """[B, L+1, N, W]"""
        layers = self.reading.read(batch)
        longest = max(one.shape[1] for one in layers)
        padding = np.repeat(self.padding, longest, axis=1)
        return np.stack([np.concatenate([one, padding[:, one.shape[1] :]], axis=1) for one in layers])


def _chosen(batch: Doubles, layers: str) -> Doubles:
    """[B, L+1, N, W] → the same, or [B, N, W]."""
    if layers == "all":
        return batch
    if layers not in ("average", "top"):
        raise ConfigError(f"layers is {layers!r}, but should be 'average', 'top' or 'all'")
    chosen: Doubles = batch[:, -1] if layers == "top" else batch.mean(axis=1)
    return chosen
