"""The reference's weights in polyseme's network, array by array, and its ids as polyseme's ids.

Deliberately not ``polyseme.formats``: a table that is wrong there must not make these tests agree.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from helpers.reference.characters import Ids
from helpers.reference.network import Array, Options, ReferenceBiLM, State, Weights
from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.nn.bilm import BiLM, BiLMState


def config_of(options: Options, weights: Weights) -> BiLMConfig:
    """The settings that polyseme needs for these weights."""
    lstm, characters, words = options["lstm"], None, None
    if "char_embed" in weights:
        cnn = options["char_cnn"]
        alphabet, dim = weights["char_embed"].shape
        characters = CharacterConfig(
            alphabet=alphabet,
            dim=dim,
            max_characters=cnn["max_characters_per_token"],
            filters=tuple((width, count) for width, count in cnn["filters"]),
            highways=cnn.get("n_highway", 0),
            activation=cnn["activation"],
        )
    if "embedding" in weights:
        words = WordConfig(*weights["embedding"].shape)
    return BiLMConfig(
        characters=characters,
        words=words,
        cell=lstm["dim"],
        projection=lstm["projection_dim"],
        layers=lstm["n_layers"],
        cell_clip=lstm.get("cell_clip"),
        projection_clip=lstm.get("proj_clip"),
        skip_connections=lstm.get("use_skip_connections", False),
        project_tokens="CNN_proj/W_proj" in weights,
        bidirectional="RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0" in weights,
    )


def tensors_of(weights: Weights, depth: int) -> dict[str, torch.Tensor]:
    """Every parameter of ``BiLM`` by its name."""
    out: dict[str, NDArray[np.float64]] = {}

    def below_zero_row(table: Array) -> Array:
        return np.concatenate([np.zeros((1, table.shape[1]), table.dtype), table])

    def gates(blocks: Array) -> Array:
        i, j, f, o = np.split(blocks, 4, axis=-1)
        return np.concatenate([i, f, o, j], axis=-1)

    if "embedding" in weights:
        out["token_encoder.words.weight"] = below_zero_row(weights["embedding"])
    if "char_embed" in weights:
        out["token_encoder.characters.embedding.weight"] = below_zero_row(weights["char_embed"])
    for i in range(sum(name.startswith("CNN/W_cnn_") for name in weights)):
        name = f"token_encoder.characters.convolutions.{i}"
        kernel = weights[f"CNN/W_cnn_{i}"][0]  # [w, d, n]
        out |= {f"{name}.weight": np.transpose(kernel, (2, 1, 0)), f"{name}.bias": weights[f"CNN/b_cnn_{i}"]}
    for k in range(sum(name.endswith("/W_carry") for name in weights)):
        for theirs, ours in (("transform", "transform"), ("carry", "gate")):
            name = f"token_encoder.characters.highways.{k}.{ours}"
            out[f"{name}.weight"] = weights[f"CNN_high_{k}/W_{theirs}"].T
            out[f"{name}.bias"] = weights[f"CNN_high_{k}/b_{theirs}"]
    if "CNN_proj/W_proj" in weights:
        out["token_encoder.projection.weight"] = weights["CNN_proj/W_proj"].T
        out["token_encoder.projection.bias"] = weights["CNN_proj/b_proj"]
    for direction in (0, 1):
        for layer in range(depth):
            theirs = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            if f"{theirs}/W_0" in weights:
                ours = f"directions.{direction}.cells.{layer}"
                from_input, from_state = np.split(weights[f"{theirs}/W_0"], 2)
                out |= {f"{ours}.input_weight": gates(from_input), f"{ours}.state_weight": gates(from_state)}
                out[f"{ours}.bias"] = gates(weights[f"{theirs}/B"])
                if f"{theirs}/W_P_0" in weights:
                    out[f"{ours}.projection"] = weights[f"{theirs}/W_P_0"]
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in out.items()}


def bilm_of(reference: ReferenceBiLM, dtype: torch.dtype = torch.float32) -> BiLM:
    """polyseme's network with the reference's weights; every parameter must be given and no other."""
    bilm = BiLM(config_of(reference.options, reference.weights)).to(dtype)
    bilm.load_state_dict(tensors_of(reference.weights, reference.options["lstm"]["n_layers"]), strict=True)
    return bilm.eval()


def ids_of(
    character_ids: Ids | None, word_ids: Ids | None, *, lengths: list[int] | None = None, shifted: bool = True
) -> torch.Tensor:
    """[B, T, K]: word id before character ids; where the reference does not shift ids, polyseme's shift and padding."""
    parts = [] if word_ids is None else [word_ids[:, :, None]]
    parts += [] if character_ids is None else [character_ids]
    ids = np.concatenate(parts, axis=2)
    if not shifted:
        assert lengths is not None
        ids = ids + 1
        for row, length in zip(ids, lengths, strict=True):
            row[length:] = 0
    return torch.from_numpy(ids)


def assert_same_state(found: BiLMState, expected: State, tolerance: float = 1e-5) -> None:
    """The states of all rows of ``found``, which may be fewer than those of the reference."""
    rows = found.h.shape[2]
    for (direction, layer), (cells, outputs) in expected.items():
        h, c = found.cell(direction, layer)
        np.testing.assert_allclose(h.numpy(), outputs[:rows], atol=tolerance, rtol=0)
        np.testing.assert_allclose(c.numpy(), cells[:rows], atol=tolerance, rtol=0)
