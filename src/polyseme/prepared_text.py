"""A text on its way through a model: split into sentences of tokens, waiting for what the model says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.encoding import Encoding, Floats, place_words, pool_units
from polyseme.text.units import PartedWords


@dataclass(frozen=True, slots=True)
class PreparedText:
    """One input, split. Its tokens may be words that the model reads in smaller units."""

    text: str
    sentences: list[Sequence[str]]
    offsets: npt.NDArray[np.int64]  # [N, 2]
    parted: list[PartedWords] | None = None  # of each sentence, where its tokens are words and the model reads units

    @property
    def units(self) -> list[Sequence[str]]:
        """What the model reads of each sentence."""
        return self.sentences if self.parted is None else [one.units for one in self.parted]

    @property
    def unit_offsets(self) -> npt.NDArray[np.int64]:
        """Where each unit stands in the text. [U, 2]"""
        return self.offsets if self.parted is None else offset_array(one.offsets for one in self.parted)

    @property
    def positions(self) -> int:
        """What the model reads, boundaries included."""
        return sum(len(units) + 2 for units in self.units)

    def encoding(self, layers: list[Floats], config: BiLMConfig, mix: tuple[float, ...]) -> Encoding:
        """``layers``: of each sentence [L+1, N+2, W], boundaries included."""
        nothing, size = np.zeros((config.layers + 1, 0, config.width), np.float32), config.projection
        inside = [one[:, 1:-1] for one in layers]
        edges = [np.concatenate([one[-1, 0, :size], one[-1, -1, size:]]) for one in layers]
        placed = None
        if self.parted is not None:
            counts = [parted.counts for parted in self.parted]
            around = [place_words(one, held, size) for one, held in zip(layers, counts, strict=True)]
            inside = [pool_units(one, held) for one, held in zip(inside, counts, strict=True)]
            placed = np.concatenate(around)
        return Encoding(
            text=self.text,
            tokens=list(chain.from_iterable(self.sentences)),
            layers=inside[0] if len(inside) == 1 else np.concatenate([nothing, *inside], axis=1),
            offsets=self.offsets,
            sentences=bounds_of(self.sentences),
            mix=mix,
            edges=np.stack(edges) if edges else nothing[0],
            directions=config.directions,
            placed=placed,
        )


def offset_array(sentences: Iterable[Sequence[tuple[int, int]]]) -> npt.NDArray[np.int64]:
    """The offsets of all sentences, one after another. [N, 2]"""
    return np.array(list(chain.from_iterable(sentences)), dtype=np.int64).reshape(-1, 2)


def bounds_of(sentences: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The first token of each sentence and its end, counted over the whole text."""
    ends = np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=False))
