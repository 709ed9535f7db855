"""The token encoder on numpy: all convolutions of a token in one matrix product over its windows.

A character row ends in padding characters. All windows that lie in the padding are equal, and the maximum over windows
needs one of them: so a token of ℓ characters needs windows 0 … ℓ only. A filter narrower than the widest is filled up
with zeros. A window that reaches beyond the end of the row exists for no filter that needs the missing characters, so
it takes no part in that filter's maximum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.engine.pool import row_products
from polyseme.engine.weights import CharacterWeights, LinearWeights, TokenWeights

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class TokenEncoder:
    """Id rows → token vectors."""

    def __init__(self, config: BiLMConfig, weights: TokenWeights) -> None:
        self.weights = weights
        self.characters = None
        if config.characters is not None and weights.characters is not None:
            self.characters = CharacterCNN(config.characters, weights.characters)

    def encode(self, rows: Ids, lengths: Ids) -> Floats:
        """[R, K] ids and how many characters each row has before its padding → [R, D]"""
        parts = []
        if self.weights.words is not None:
            parts.append(self.weights.words[rows[:, 0]])
        if self.characters is not None:
            parts.append(self.characters.encode(rows[:, -self.characters.columns :], lengths))
        h = np.concatenate(parts, axis=1)  # [R, encoded_size]
        return h if self.weights.projection is None else linear(self.weights.projection, h)


class CharacterCNN:
    """Character rows → [R, F]."""

    def __init__(self, config: CharacterConfig, weights: CharacterWeights) -> None:
        self.config, self.columns, self.weights = config, config.max_characters, weights
        self.widest = max(width for width, _ in config.filters)
        depth = self.widest * config.dim
        filled = [np.pad(filters, ((0, depth - len(filters)), (0, 0))) for filters in weights.filters]
        self.filters = np.concatenate(filled, axis=1)  # [widest · dim, F]

    def encode(self, characters: Ids, lengths: Ids) -> Floats:
        """[R, C] ids → [R, F]"""
        h = np.empty((len(characters), self.config.filter_count), np.float32)
        for rows in self._pieces(lengths):
            h[rows] = self._convolve(characters[rows], int(lengths[rows].max(initial=0)))
        h += self.weights.bias  # adding a bias and the activation commute with the maximum
        h = np.maximum(h, 0) if self.config.activation == "relu" else np.tanh(h)
        for transform, gate in self.weights.highways:
            h += logistic(linear(gate, h)) * (np.maximum(linear(transform, h), 0) - h)
        return h

    def _pieces(self, lengths: Ids) -> list[Ids]:
        """Numbers of rows, by length: then a token's product has the same shape, and the same bits, in any company."""
        order = np.argsort(lengths, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)

    def _convolve(self, characters: Ids, length: int) -> Floats:
        """[R, C] ids of tokens of one length → [R, F]: each filter's maximum over its windows."""
        rows, dim = len(characters), self.config.dim
        windows = min(length + 1, self.columns)
        used = windows + self.widest - 1
        x = np.zeros((rows, used, dim), np.float32)
        inside = min(used, self.columns)
        x[:, :inside] = self.weights.embedding[characters[:, :inside]]
        spread = sliding_window_view(x.reshape(rows, -1), self.widest * dim, axis=1)[:, ::dim]  # [R, windows, depth]
        y = np.matmul(np.ascontiguousarray(spread), self.filters)  # [R, windows, F]
        if used > self.columns:
            begin = 0
            for width, count in self.config.filters:
                y[:, self.columns - width + 1 :, begin : begin + count] = -np.inf
                begin += count
        best: Floats = y.max(axis=1)
        return best


def linear(weights: LinearWeights, x: Floats) -> Floats:
    y = row_products(x, weights.weight)
    y += weights.bias
    return y


def logistic(x: Floats) -> Floats:
    """1 / (1 + e^-x), by numpy's fastest function; ``x`` changes."""
    x *= np.float32(0.5)
    np.tanh(x, out=x)
    x += 1
    x *= np.float32(0.5)
    return x
