"""The encoding of one text: its tokens, their layers, and the vectors mixed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError
from polyseme.mixing import mixed

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Encoding:
    """One encoded text. Position n of every array belongs to ``tokens[n]``."""

    text: str
    tokens: list[str]
    layers: Floats  # [L+1, N, W]
    offsets: npt.NDArray[np.int64]  # [N, 2]: tokens[n] is text[offsets[n, 0]:offsets[n, 1]]
    sentences: list[tuple[int, int]]  #: [start, end) of each of the S sentences, in tokens
    mix: tuple[float, ...]  #: the weight of each layer in ``vectors``
    edges: Floats  # [S, W]: the top layer's forward state at ``<S>`` and backward state at ``</S>``
    directions: int = 2  #: 1 for a model that reads forward only
    placed: Floats | None = None  # [N, W]: ``place``, if it cannot be computed from ``layers``

    @cached_property
    def vectors(self) -> Floats:
        """The weighted sum of the layers, [N, W]."""
        return mixed(self.layers, self.mix)

    @cached_property
    def place(self) -> Floats:
        """The context of each token, without the token itself, [N, W].

        It is the forward state before the token and the backward state after it, from which the language model predicts
        the token; at either end of a sentence, the state at the boundary.
        """
        if self.placed is not None:
            return self.placed
        size = self.layers.shape[2] // self.directions
        place = np.empty(self.layers.shape[1:], dtype=np.float32)
        place[1:, :size], place[:-1, size:] = self.layers[-1, :-1, :size], self.layers[-1, 1:, size:]
        for (begin, end), edge in zip(self.sentences, self.edges, strict=True):
            if end > begin:
                place[begin, :size], place[end - 1, size:] = edge[:size], edge[size:]
        return place

    def find(self, word: str) -> list[int]:
        """The positions of a token, as it is spelled."""
        return [position for position, token in enumerate(self.tokens) if token == word]

    def __getitem__(self, word: str) -> Floats:
        """The vector [W] of a token that occurs exactly once."""
        positions = self.find(word)
        if len(positions) != 1:
            raise InputError(_not_once(word, positions, self.tokens))
        vector: Floats = self.vectors[positions[0]]
        return vector

    def mean(self) -> Floats:
        """One vector [W] for the text: the mean over its tokens; zero for an empty text."""
        if not self.tokens:
            return np.zeros(self.layers.shape[2], dtype=np.float32)
        mean: Floats = self.vectors.mean(axis=0, dtype=np.float32)
        return mean

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        shown = " ".join(self.tokens[:12]) + (" …" if len(self.tokens) > 12 else "")
        return f"Encoding({shown!r}, {len(self.tokens)} tokens, {len(self.layers)} layers of {self.layers.shape[2]})"


def pool_units(layers: Floats, counts: Sequence[int]) -> Floats:
    """Layers of units [L+1, U, W] → layers of words [L+1, N, W]: the mean over the ``counts[n]`` units of word n."""
    if not counts:
        return layers
    sums: Floats = np.add.reduceat(layers, np.cumsum([0, *counts[:-1]]), axis=1, dtype=np.float32)
    sums /= np.array(counts, np.float32)[:, None]
    return sums


def place_words(layers: Floats, counts: Sequence[int], size: int) -> Floats:
    """``Encoding.place`` of words: the states before the first and after the last unit of each word. [N, W]

    ``layers`` are those of the units and both boundaries, [L+1, U+2, W]; ``size`` is the width of one direction.
    """
    ends = np.cumsum(counts, dtype=np.int64)
    starts = ends - np.array(counts, np.int64)
    return np.concatenate([layers[-1, starts, :size], layers[-1, ends + 1, size:]], axis=1)


def joined_offsets(tokens: Sequence[str]) -> npt.NDArray[np.int64]:
    """The offsets of each token in ``" ".join(tokens)``. [N, 2]"""
    sizes = np.array([len(token) for token in tokens], dtype=np.int64)
    ends = np.cumsum(sizes + 1) - 1
    return np.stack([ends - sizes, ends], axis=1)


def _not_once(word: str, positions: list[int], tokens: list[str]) -> str:
    if positions:
        listed = ", ".join(map(str, positions))
        return (
            f"{word!r} is at {len(positions)} positions ({listed}); "
            f"choose one of them, for example .vectors[{positions[0]}]"
        )
    shown = ", ".join(repr(token) for token in tokens[:20]) + (", …" if len(tokens) > 20 else "")
    return f"there is no token {word!r} here; there are: {shown or 'none'}"


def unit(vectors: Floats) -> Floats:
    """[..., W] → the same directions with length one; zero stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.maximum(norms, np.finfo(np.float32).tiny)
    return scaled


def add_directions(states: Floats, directions: int) -> Floats:
    """Forward plus backward: both feed one softmax, so they share one space. [n, W] → [n, D]"""
    added: Floats = states.reshape(len(states), directions, states.shape[1] // directions).sum(axis=1)
    return added
