"""The biLM once more, in numpy float64 and in the conventions of the released files, to test polyseme against.

Written from the description of the formats alone: it shares no code, no parameter layout and no batching with
``polyseme.nn``, and prefers the obvious to the fast: one sentence and one position at a time. ``test_reference.py``
checks it against golden files of the original programs.

    options     the contents of an options.json
    weights     {HDF5 name: array}, layouts as in the HDF5 file: W_cnn_i [1, w, d, n], matrices for row vectors (x @ W),
                gates in the order i, j, f, o, the forget bias stored without its +1, "carry" that multiplies the transform
    ids         byte scheme: file row + 1, where 0 is padding and has a zero vector; Unicode scheme: the row itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Weights = Mapping[str, NDArray[Any]]
Options = Mapping[str, Any]
State = dict[tuple[int, int], tuple[Array, Array]]
"""{(direction, layer): (cells [rows, D], outputs [rows, P])}, one row for each sentence of a batch."""


# Characters ---------------------------------------------------------------------------------------------------------

BYTE_SPECIALS = {"<S>": 256, "</S>": 257}
BEGIN_WORD, END_WORD, PAD_CHARACTER = 258, 259, 260


def byte_row(content: Sequence[int], width: int) -> list[int]:
    row = [BEGIN_WORD, *content[: width - 2], END_WORD]
    row += [PAD_CHARACTER] * (width - len(row))
    return [raw + 1 for raw in row]


def byte_ids(sentences: Sequence[Sequence[str]], width: int, *, markers_in_text: bool = False) -> Ids:
    """[B, T, M]: every sentence between its boundaries, zeros after it."""
    longest = max(len(sentence) for sentence in sentences)
    ids = np.zeros((len(sentences), longest + 2, width), dtype=np.int64)
    for b, sentence in enumerate(sentences):
        ids[b, 0] = byte_row([BYTE_SPECIALS["<S>"]], width)
        for t, token in enumerate(sentence, start=1):
            if markers_in_text and token in BYTE_SPECIALS:
                ids[b, t] = byte_row([BYTE_SPECIALS[token]], width)
            else:
                ids[b, t] = byte_row(list(token.encode("utf-8", "ignore")), width)
        ids[b, len(sentence) + 1] = byte_row([BYTE_SPECIALS["</S>"]], width)
    return ids


def unicode_ids(
    sentences: Sequence[Sequence[str]], width: int, characters: Mapping[str, int] | None, words: Mapping[str, int] | None
) -> tuple[Ids | None, Ids | None]:
    """ELMoForManyLangs: ([B, T, M] character ids, [B, T] word ids), the ids of begin and end of a word swapped."""
    longest = max(len(sentence) for sentence in sentences) + 2
    shape = (len(sentences), longest)
    character_ids = np.full((*shape, width), characters["<pad>"], dtype=np.int64) if characters else None
    word_ids = np.full(shape, words["<pad>"], dtype=np.int64) if words else None
    for b, sentence in enumerate(sentences):
        for t, token in enumerate(["<bos>", *sentence, "<eos>"]):
            token = token[: width - 2] if len(token) + 2 > width else token
            if word_ids is not None and words is not None:
                word_ids[b, t] = words.get(token, words["<oov>"])
            if character_ids is not None and characters is not None:
                marker = token in ("<bos>", "<eos>")
                content = [characters[token]] if marker else [characters.get(c, characters["<oov>"]) for c in token]
                row = [characters["<eow>"], *content, characters["<bow>"]]
                character_ids[b, t, : len(row)] = row
    return character_ids, word_ids


# The network --------------------------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def clip(x: Array, limit: float | None) -> Array:
    return x if limit is None else np.clip(x, -limit, limit)


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
        activation = {"relu": relu, "tanh": np.tanh}[cnn["activation"]]
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
            parts.append(activation(best))
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
        """All layers [L+1, B, T, W] of a batch that has its sentence boundaries. Lengths: as given, or up to the zeros."""
        if lengths is None:
            used = character_ids.any(axis=-1) if character_ids is not None else np.asarray(word_ids) > 0
            lengths = used.sum(axis=-1).tolist()
        tokens = self.token_vectors(character_ids, word_ids)
        return self.layers(tokens, lengths, self.zero_state(len(tokens)) if state is None else state)


def without_boundaries(layers: Array, lengths: Sequence[int]) -> Array:
    """As bilm-tf: position 0 and each row's last position go, later positions move left. [L+1, B, T-2, W]."""
    rows = [np.delete(layers[:, b], [0, length - 1], axis=1) for b, length in enumerate(lengths)]
    return np.stack(rows, axis=1)


# The scalar mix -----------------------------------------------------------------------------------------------------


def batch_layer_norm(layer: Array, mask: NDArray[np.bool_], epsilon: float = 1e-12) -> Array:
    """One mean and one variance over all unmasked tokens and all features of the batch. layer [B, T, W]."""
    seen = layer[mask]
    return (layer - seen.mean()) / np.sqrt(((seen - seen.mean()) ** 2).mean() + epsilon)


def token_layer_norm(layer: Array, epsilon: float = 1e-12) -> Array:
    """Each vector by its own mean and variance, without gain or bias."""
    centred = layer - layer.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)


def mix(layers: Array, weights: Array, gamma: float, norm: str = "none", mask: NDArray[np.bool_] | None = None) -> Array:
    """gamma · sum of softmax(weights)[l] · layers[l] over [L+1, B, T, W], each layer normed before if asked for."""
    shares = np.exp(weights) / np.exp(weights).sum()
    total = np.zeros(layers.shape[1:])
    for share, layer in zip(shares, layers, strict=True):
        if norm == "batch":
            assert mask is not None
            layer = batch_layer_norm(layer, mask)
        elif norm == "token":
            layer = token_layer_norm(layer)
        total = total + share * layer
    return gamma * total


# The torch layout (AllenNLP, ELMoForManyLangs) ----------------------------------------------------------------------


def from_torch_layout(arrays: Weights, depth: int) -> dict[str, NDArray[Any]]:
    """ELMoForManyLangs' arrays (token_embedder.pkl and encoder.pkl together) under HDF5 names and in HDF5 layouts."""

    def gates(blocks: NDArray[Any]) -> NDArray[Any]:
        i, f, j, o = np.split(blocks, 4, axis=-1)
        return np.concatenate([i, j, f, o], axis=-1)

    out: dict[str, NDArray[Any]] = {}
    if "word_emb_layer.embedding.weight" in arrays:
        out["embedding"] = arrays["word_emb_layer.embedding.weight"]
    if "char_emb_layer.embedding.weight" in arrays:
        out["char_embed"] = arrays["char_emb_layer.embedding.weight"]
    i = 0
    while f"convolutions.{i}.weight" in arrays:
        out[f"CNN/W_cnn_{i}"] = arrays[f"convolutions.{i}.weight"].transpose(2, 1, 0)[None]
        out[f"CNN/b_cnn_{i}"] = arrays[f"convolutions.{i}.bias"]
        i += 1
    k = 0
    while f"highways._layers.{k}.weight" in arrays:
        transform, carry = np.split(arrays[f"highways._layers.{k}.weight"], 2)
        out |= {f"CNN_high_{k}/W_transform": transform.T, f"CNN_high_{k}/W_carry": -carry.T}
        transform, carry = np.split(arrays[f"highways._layers.{k}.bias"], 2)
        out |= {f"CNN_high_{k}/b_transform": transform, f"CNN_high_{k}/b_carry": -carry}
        k += 1
    out |= {"CNN_proj/W_proj": arrays["projection.weight"].T, "CNN_proj/b_proj": arrays["projection.bias"]}
    for d, direction in enumerate(("forward", "backward")):
        for layer in range(depth):
            source, name = f"{direction}_layer_{layer}", f"RNN_{d}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            inner = np.concatenate([arrays[f"{source}.{kind}_linearity.weight"].T for kind in ("input", "state")])
            bias = gates(arrays[f"{source}.state_linearity.bias"].astype(np.float64))
            bias[2 * len(bias) // 4 : 3 * len(bias) // 4] -= 1.0
            out |= {f"{name}/W_0": gates(inner), f"{name}/B": bias}
            if f"{source}.state_projection.weight" in arrays:
                out[f"{name}/W_P_0"] = arrays[f"{source}.state_projection.weight"].T
    return out


# Random models ------------------------------------------------------------------------------------------------------


def options_for(
    *,
    depth: int = 2,
    cell: int = 12,
    size: int = 6,
    skip: bool = True,
    cell_clip: float | None = 3.0,
    proj_clip: float | None = 3.0,
    activation: str = "relu",
    filters: Sequence[tuple[int, int]] = ((1, 3), (2, 4), (3, 5)),
    highways: int = 1,
    width: int = 12,
    dim: int = 4,
) -> dict[str, Any]:
    """The contents of a small options.json."""
    lstm = {"dim": cell, "projection_dim": size, "n_layers": depth, "use_skip_connections": skip}
    clips = {"cell_clip": cell_clip, "proj_clip": proj_clip}
    return {
        "lstm": lstm | {name: limit for name, limit in clips.items() if limit is not None},
        "char_cnn": {
            "activation": activation,
            "embedding": {"dim": dim},
            "filters": [list(f) for f in filters],
            "n_highway": highways,
            "max_characters_per_token": width,
            "n_characters": 262,
        },
    }


def random_weights(
    options: Options,
    seed: int,
    *,
    directions: int = 2,
    characters: int = 261,
    words: int = 0,
    word_dim: int | None = None,
    scale: float = 1.0,
) -> dict[str, NDArray[np.float32]]:
    """Random float32 arrays under their HDF5 names. ``words`` > 0: also the table ``embedding`` (of ``word_dim`` columns
    and then beside the characters; of P columns and instead of them where ``word_dim`` is None)."""
    rng = np.random.default_rng(seed)
    lstm, cnn = options["lstm"], options["char_cnn"]
    size, cell = lstm["projection_dim"], lstm["dim"]
    shapes: dict[str, tuple[int, ...]] = {}
    if words:
        shapes["embedding"] = (words, size if word_dim is None else word_dim)
    if not words or word_dim is not None:
        dim, total = cnn["embedding"]["dim"], sum(count for _, count in cnn["filters"])
        shapes["char_embed"] = (characters, dim)
        for i, (width, count) in enumerate(cnn["filters"]):
            shapes |= {f"CNN/W_cnn_{i}": (1, width, dim, count), f"CNN/b_cnn_{i}": (count,)}
        for k in range(cnn["n_highway"]):
            for part in ("transform", "carry"):
                shapes |= {f"CNN_high_{k}/W_{part}": (total, total), f"CNN_high_{k}/b_{part}": (total,)}
        joined = total + (word_dim or 0)
        if joined != size or word_dim is not None:
            shapes |= {"CNN_proj/W_proj": (joined, size), "CNN_proj/b_proj": (size,)}
    for direction in range(directions):
        for layer in range(lstm["n_layers"]):
            name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{name}/W_0": (2 * size, 4 * cell), f"{name}/B": (4 * cell,)}
            if size < cell:
                shapes[f"{name}/W_P_0"] = (cell, size)
    return {name: (scale * 0.5 * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
