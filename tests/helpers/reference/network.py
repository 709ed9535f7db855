"""Token encoder and LSTM layers, one sentence and one position at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.reference.characters import Ids

Array = NDArray[np.float64]
Weights = Mapping[str, NDArray[Any]]
Options = Mapping[str, Any]
State = dict[tuple[int, int], tuple[Array, Array]]
"""{(direction, layer): (cells [rows, D], outputs [rows, P])}, one row for each sentence of a batch."""


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def clip(x: Array, limit: float | None) -> Array:
    return x if limit is None else np.clip(x, -limit, limit)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "tanh": np.tanh}


@dataclass(frozen=True)
class ReferenceBiLM:
    """``shifted``: ids are file rows + 1 and id 0 is a zero vector (all but ELMoForManyLangs)."""

    options: Options
    weights: Weights
    shifted: bool = True

    def array(self, name: str) -> Array:
        return np.asarray(self.weights[name], dtype=np.float64)

    def table(self, name: str) -> Array:
        rows = self.array(name)
        return np.concatenate([np.zeros((1, rows.shape[1])), rows]) if self.shifted else rows

    @property
    def directions(self) -> int:
        return sum(f"RNN_{d}/RNN/MultiRNNCell/Cell0/LSTMCell/W_0" in self.weights for d in (0, 1))

    # Token encoder: ids of one token -> [P]

    def character_vector(self, row: Ids) -> Array:
        """The CNN and the highways over one token's [M] character ids: [N]."""
        cnn = self.options["char_cnn"]
        x = self.table("char_embed")[row]  # [M, d]
        parts = []
        for i, (width, count) in enumerate(cnn["filters"]):
            kernel, bias = self.array(f"CNN/W_cnn_{i}")[0], self.array(f"CNN/b_cnn_{i}")  # [w, d, n], [n]
            places = []
            for p in range(len(x) - width + 1):
                y = bias.copy()
                for q in range(width):
                    y = y + x[p + q] @ kernel[q]
                places.append(y)
            best = np.max(places, axis=0)
            assert best.shape == (count,)
            parts.append(ACTIVATIONS[cnn["activation"]](best))
        h = np.concatenate(parts)
        for k in range(cnn.get("n_highway", 0)):
            name = f"CNN_high_{k}"
            gate = sigmoid(h @ self.array(f"{name}/W_carry") + self.array(f"{name}/b_carry"))
            transformed = relu(h @ self.array(f"{name}/W_transform") + self.array(f"{name}/b_transform"))
            h = gate * transformed + (1.0 - gate) * h
        return h

    def token_vector(self, characters: Ids | None, word: int | None) -> Array:
        parts = []
        if word is not None:
            parts.append(self.table("embedding")[word])
        if characters is not None:
            parts.append(self.character_vector(characters))
        e = np.concatenate(parts)
        if "CNN_proj/W_proj" in self.weights:
            e = e @ self.array("CNN_proj/W_proj") + self.array("CNN_proj/b_proj")
        return e

    def token_vectors(self, character_ids: Ids | None, word_ids: Ids | None) -> Array:
        """[B, T, P], at padding as well: there the encoder sees zero vectors (or the padding rows)."""
        first = character_ids if character_ids is not None else word_ids
        assert first is not None
        rows = []
        for b in range(first.shape[0]):
            for t in range(first.shape[1]):
                characters = None if character_ids is None else character_ids[b, t]
                word = None if word_ids is None else int(word_ids[b, t])
                rows.append(self.token_vector(characters, word))
        return np.array(rows).reshape(*first.shape[:2], -1)

    # LSTM

    def step(self, x: Array, cell: Array, output: Array, direction: int, layer: int) -> tuple[Array, Array]:
        lstm = self.options["lstm"]
        name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        gates = np.concatenate([x, output]) @ self.array(f"{name}/W_0") + self.array(f"{name}/B")
        i, j, f, o = np.split(gates, 4)
        cell = sigmoid(f + 1.0) * cell + sigmoid(i) * np.tanh(j)
        cell = clip(cell, lstm.get("cell_clip"))
        output = sigmoid(o) * np.tanh(cell)
        if lstm["projection_dim"] < lstm["dim"]:
            output = clip(output @ self.array(f"{name}/W_P_0"), lstm.get("proj_clip"))
        return cell, output

    def zero_state(self, rows: int) -> State:
        lstm = self.options["lstm"]
        return {
            (direction, layer): (np.zeros((rows, lstm["dim"])), np.zeros((rows, lstm["projection_dim"])))
            for direction in range(self.directions)
            for layer in range(lstm["n_layers"])
        }

    def layers(self, tokens: Array, lengths: Sequence[int], state: State) -> Array:
        """[B, T, P] token vectors to [L+1, B, T, directions·P]; ``state`` is used and replaced, row by row."""
        rows, positions, size = tokens.shape
        depth, skip = self.options["lstm"]["n_layers"], self.options["lstm"].get("use_skip_connections", False)
        out = np.zeros((depth + 1, rows, positions, self.directions * size))
        out[0] = np.concatenate([tokens] * self.directions, axis=-1)
        for direction in range(self.directions):
            columns = slice(direction * size, (direction + 1) * size)
            for b in range(rows):
                order = range(lengths[b]) if direction == 0 else range(lengths[b] - 1, -1, -1)
                inputs = {t: tokens[b, t] for t in order}
                for layer in range(depth):
                    cells, outputs = state[direction, layer]
                    for t in order:
                        cells[b], outputs[b] = self.step(inputs[t], cells[b], outputs[b], direction, layer)
                        shown = outputs[b] + inputs[t] if skip and layer > 0 else outputs[b].copy()
                        out[layer + 1, b, t, columns] = shown
                        inputs[t] = shown
        return out

    def __call__(
        self,
        character_ids: Ids | None = None,
        word_ids: Ids | None = None,
        *,
        lengths: Sequence[int] | None = None,
        state: State | None = None,
    ) -> Array:
        """All layers [L+1, B, T, W] of a batch with sentence boundaries; lengths as given, or up to the zeros."""
        if lengths is None:
            used = character_ids.any(axis=-1) if character_ids is not None else np.asarray(word_ids) > 0
            lengths = used.sum(axis=-1).tolist()
        tokens = self.token_vectors(character_ids, word_ids)
        return self.layers(tokens, lengths, self.zero_state(len(tokens)) if state is None else state)


def without_boundaries(layers: Array, lengths: Sequence[int]) -> Array:
    """As bilm-tf: position 0 and each row's last position go, later positions move left. [L+1, B, T-2, W]."""
    rows = [np.delete(layers[:, b], [0, length - 1], axis=1) for b, length in enumerate(lengths)]
    return np.stack(rows, axis=1)
