"""Small models to run: drawn at random, or read from the torch layout of ELMoForManyLangs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.reference.network import Options, Weights


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
) -> dict[str, NDArray[np.float32]]:
    """Random float32 arrays under their HDF5 names.

    With ``words``, also the table ``embedding``: of ``word_dim`` columns and beside the characters, or, where that is
    None, of P columns and instead of the characters.
    """
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
    # Rounded to 16 bits, so that committed files hold them exactly in half the space.
    draw = {name: (0.5 * rng.standard_normal(shape)).astype(np.float16) for name, shape in shapes.items()}
    return {name: array.astype(np.float32) for name, array in draw.items()}


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
