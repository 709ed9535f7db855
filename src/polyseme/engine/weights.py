"""The weights of a model as the engine wants them: numpy arrays in float32, by the parts of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import FORGET_BIAS, BiLMConfig, CharacterConfig
from polyseme.errors import ConfigError

Floats = npt.NDArray[np.float32]

#: How many bits the weights have that the engine multiplies with.
Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")


def check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise ConfigError(f"precision is {precision!r}, but should be one of: {', '.join(PRECISIONS)}")


def fits_half(weight: Floats) -> bool:
    """Whether float16 holds every weight exactly."""
    with np.errstate(over="ignore"):
        return bool(np.array_equal(weight.astype(np.float16).astype(np.float32), weight))


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One LSTM layer in one direction; gates in the order i, f, o, g."""

    input: Floats  # [D, 4H]
    recurrent: Floats  # [D, 4H]
    bias: Floats  # [4H], with the forget gate's constant
    projection: Floats | None  # [H, D]


@dataclass(frozen=True, slots=True)
class LinearWeights:
    """``x @ weight + bias``"""

    weight: Floats  # [in, out]
    bias: Floats  # [out]


@dataclass(frozen=True, slots=True)
class CharacterWeights:
    """The character CNN."""

    embedding: Floats  # [alphabet + 1, dim]
    filters: list[Floats]  # [width · dim, count] for each width
    bias: Floats  # [F]
    highways: list[tuple[LinearWeights, LinearWeights]]  # transform and gate, F → F each


@dataclass(frozen=True, slots=True)
class TokenWeights:
    """The token encoder: characters, words or both, and the map to D."""

    characters: CharacterWeights | None
    words: Floats | None  # [size + 1, dim]
    projection: LinearWeights | None  # encoded_size → D


def layer_weights(config: BiLMConfig, tensors: Mapping[str, Floats], direction: int, layer: int) -> LayerWeights:
    here = f"directions.{direction}.cells.{layer}."
    bias = tensors[here + "bias"].copy()
    bias[config.cell : 2 * config.cell] += FORGET_BIAS
    projection = tensors[here + "projection"] if config.has_projection else None
    return LayerWeights(tensors[here + "input_weight"], tensors[here + "state_weight"], bias, projection)


def token_weights(config: BiLMConfig, tensors: Mapping[str, Floats]) -> TokenWeights:
    here = "token_encoder."
    return TokenWeights(
        _character_weights(config.characters, tensors, here + "characters.") if config.characters else None,
        tensors.get(here + "words.weight"),
        _linear(tensors, here + "projection.") if config.project_tokens else None,
    )


def _character_weights(config: CharacterConfig, tensors: Mapping[str, Floats], here: str) -> CharacterWeights:
    numbers = range(len(config.filters))
    kernels = [tensors[f"{here}convolutions.{i}.weight"] for i in numbers]  # [count, dim, width]
    return CharacterWeights(
        tensors[here + "embedding.weight"],
        [kernel.transpose(2, 1, 0).reshape(-1, len(kernel)) for kernel in kernels],
        np.concatenate([tensors[f"{here}convolutions.{i}.bias"] for i in numbers]),
        [
            (_linear(tensors, f"{here}highways.{k}.transform."), _linear(tensors, f"{here}highways.{k}.gate."))
            for k in range(config.highways)
        ],
    )


def _linear(tensors: Mapping[str, Floats], here: str) -> LinearWeights:
    return LinearWeights(tensors[here + "weight"].T, tensors[here + "bias"])
