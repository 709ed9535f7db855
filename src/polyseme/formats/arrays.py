"""The arrays of a weight file: first their names and shapes, and their values only if all of these fit.

For any container (HDF5, safetensors, torch, TensorFlow), a loader sees an ``ArrayFile``. Memory is allocated only for
arrays whose shapes match the model's settings and whose sizes are plausible for the file. ``parameter_shapes`` lists
the parameters of a network and their shapes without creating them; torch's meta device would take seconds to load.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.errors import FormatError, MissingTensor, WrongShape

Floats = npt.NDArray[np.float32]

#: Weights hardly compress; a file that promises more than this many times its own size is not made of weights.
LARGEST_EXPANSION = 200
#: Weights of the bundled models are below 3. Beyond this limit, products of a few weights overflow float32.
LARGEST_WEIGHT = 1e6
Shape = tuple[int, ...]
MOST_WORDS, MOST_CHARACTERS, LARGEST_SIZE, MOST_PARTS = 1 << 28, 1 << 21, 1 << 20, 1000
BFLOAT16 = "<u2"  #: numpy type that holds its bits


@dataclass(frozen=True, slots=True)
class Array:
    """One array on disk that has not been read yet."""

    shape: tuple[int, ...]
    kind: str  #: the type of its values, as the file names it
    floating: bool
    read: Callable[[], npt.NDArray[Any]]

    @property
    def bytes(self) -> int:
        """Its size in memory, as float32."""
        count = 4
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An open weight file."""

    name: str  #: its name in errors
    arrays: Mapping[str, Array]
    size: int  #: bytes on disk

    def within(self, prefix: str) -> ArrayFile:
        """The arrays whose names begin with ``prefix``, named without it."""
        inner = {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}
        return replace(self, arrays=inner)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array that must exist."""
        if name not in self.arrays:
            raise self.missing(name)
        return self.arrays[name].shape

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse the file unless every named array exists, with its shape, and is small enough to read."""
        for name, expected in shapes.items():
            if name not in self.arrays:
                raise self.missing(name)
            if (found := self.arrays[name].shape) != expected:
                raise WrongShape(self.name, name, expected, found)
            if not self.arrays[name].floating:
                raise FormatError(
                    f"{self.name}: the array {name!r} holds values of type {self.arrays[name].kind}, "
                    "where floating-point numbers were expected"
                )
        self._check_size(shapes)

    def read(self, name: str) -> Floats:
        """The values as float32; values that are not finite, or so large that results would not be, are refused."""
        with np.errstate(all="ignore"):
            values: Floats = self.arrays[name].read().astype(np.float32, copy=False)
        if not values.size:
            return values
        low, high = float(values.min()), float(values.max())  # both are NaN if any value is
        if math.isfinite(low) and math.isfinite(high) and max(-low, high) > LARGEST_WEIGHT:
            raise FormatError(
                f"{self.name}: the array {name!r} holds the value {low if -low > high else high:.3g}, which is no "
                "weight of a network: its products are not finite; get the file again"
            )
        if wrong := 0 if math.isfinite(low) and math.isfinite(high) else int((~np.isfinite(values)).sum()):
            raise FormatError(
                f"{self.name}: the array {name!r} has {wrong} values of {values.size} that are not finite numbers, "
                "so the weights are damaged; get the file again"
            )
        return values

    def missing(self, name: str) -> MissingTensor:
        """The error for a missing array, with the most similar name in the file."""
        near = difflib.get_close_matches(name, self.arrays, n=1, cutoff=0.0)
        found = f"the nearest name in it is {near[0]!r}" if near else "it holds no arrays at all"
        return MissingTensor(self.name, name, found)

    def _check_size(self, names: Iterable[str]) -> None:
        promised = sum(self.arrays[name].bytes for name in names)
        if promised > LARGEST_EXPANSION * self.size + (1 << 20):
            raise FormatError(
                f"{self.name} has {self.size:,} bytes but promises {promised:,} bytes of weights, "
                "which is not plausible; it was not read"
            )


def parameter_shapes(config: BiLMConfig) -> dict[str, Shape]:
    """The parameters of the network, by their names in ``BiLM``."""
    check_plausible(config)
    shapes: dict[str, Shape] = {}
    if config.words:
        shapes["token_encoder.words.weight"] = (config.words.size + 1, config.words.dim)
    if config.characters:
        shapes |= _character_shapes(config.characters)
    if config.project_tokens:
        shapes["token_encoder.projection.weight"] = (config.projection, config.encoded_size)
        shapes["token_encoder.projection.bias"] = (config.projection,)
    for direction, layer in itertools.product(range(config.directions), range(config.layers)):
        cell = f"directions.{direction}.cells.{layer}"
        shapes[f"{cell}.input_weight"] = shapes[f"{cell}.state_weight"] = (config.projection, 4 * config.cell)
        shapes[f"{cell}.bias"] = (4 * config.cell,)
        if config.has_projection:
            shapes[f"{cell}.projection"] = (config.cell, config.projection)
    return shapes


def _character_shapes(config: CharacterConfig) -> dict[str, Shape]:
    cnn, size = "token_encoder.characters", config.filter_count
    shapes: dict[str, Shape] = {f"{cnn}.embedding.weight": (config.alphabet + 1, config.dim)}
    for number, (width, count) in enumerate(config.filters):
        shapes[f"{cnn}.convolutions.{number}.weight"] = (count, config.dim, width)
        shapes[f"{cnn}.convolutions.{number}.bias"] = (count,)
    for number, linear in itertools.product(range(config.highways), ("transform", "gate")):
        shapes[f"{cnn}.highways.{number}.{linear}.weight"] = (size, size)
        shapes[f"{cnn}.highways.{number}.{linear}.bias"] = (size,)
    return shapes


def check_plausible(config: BiLMConfig) -> None:
    """Refuse sizes that no model has, before anything is allocated."""
    characters, words = config.characters, config.words
    sizes = [("cell", config.cell, LARGEST_SIZE), ("projection", config.projection, LARGEST_SIZE)]
    sizes += [("layers", config.layers, MOST_PARTS)]
    if words:
        sizes += [("words", words.size, MOST_WORDS), ("word dim", words.dim, LARGEST_SIZE)]
    if characters:
        sizes += [
            ("alphabet", characters.alphabet, MOST_CHARACTERS),
            ("character dim", characters.dim, LARGEST_SIZE),
            ("max_characters", characters.max_characters, LARGEST_SIZE),
            ("filters", characters.filter_count, LARGEST_SIZE),
            ("kinds of filters", len(characters.filters), MOST_PARTS),
            ("highways", characters.highways, MOST_PARTS),
        ]
    for name, value, largest in sizes:
        if value > largest:
            raise FormatError(f"the settings say {name} = {value:,}, but no model has more than {largest:,}")


def widened(bits: npt.NDArray[Any]) -> Floats:
    """The bits as 16-bit numbers → the same values as float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
