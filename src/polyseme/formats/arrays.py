"""The arrays of a weight file: their names and shapes first, their values only when all of that fits.

Whatever the container (HDF5, safetensors, torch, TensorFlow), a loader sees an ``ArrayFile``. Memory is taken only
for arrays whose shapes were checked against the model's settings and whose sizes are plausible for the file.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError, MissingTensor, WrongShape

Floats = npt.NDArray[np.float32]

#: Weights hardly compress; a file that promises more than this many times its own size is not made of weights.
LARGEST_EXPANSION = 200
#: Those of the bundled models stay below 3. Beyond this, products of a few weights leave float32.
LARGEST_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Array:
    """One array on disk, not read yet."""

    shape: tuple[int, ...]
    kind: str  #: the type of its values, as the file names it
    floating: bool
    read: Callable[[], npt.NDArray[Any]]

    @property
    def bytes(self) -> int:
        """What it takes in memory, as float32."""
        count = 4
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An open weight file."""

    name: str  #: how errors call it
    arrays: Mapping[str, Array]
    size: int  #: bytes on disk

    def within(self, prefix: str) -> ArrayFile:
        """The arrays whose names begin with ``prefix``, named without it."""
        inner = {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}
        return replace(self, arrays=inner)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array that must be there."""
        if name not in self.arrays:
            raise self.missing(name)
        return self.arrays[name].shape

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse the file unless every named array is there, with its shape, and small enough to be read."""
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
        """The values as float32; one that is not finite, or leads to one that is not, is refused."""
        with np.errstate(all="ignore"):
            values: Floats = self.arrays[name].read().astype(np.float32, copy=False)
        if not values.size:
            return values
        low, high = float(values.min()), float(values.max())  # both are NaN if one value is
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
        """The error for an array that is not there, with the nearest name that is."""
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
