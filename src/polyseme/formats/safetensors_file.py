"""safetensors files of weights, opened without reading them, and written; also with rows of weights in 8 bits.

Such a row is whole numbers from -127 to 127, and a scale:

    row ≈ scale · numbers,   scale = max |row| / 127

A scale keeps 16 bits of its fraction. Then its products with the numbers are exact in float32, and rows that were
rounded once are rounded to themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from polyseme.errors import FormatError, WrongShape
from polyseme.formats.arrays import BFLOAT16, Array, ArrayFile, Floats, widened

FLOATING = ("F16", "BF16", "F32", "F64")
LARGEST = 127
#: Without the lowest 8 bits of a float32.
_KEPT = np.uint32(0xFFFFFF00)


@contextmanager
def open_safetensors(path: Path) -> Iterator[ArrayFile]:
    """The arrays of a safetensors file; they can be read while the block lasts."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: _lazy(file, path, name) for name in file.keys()}  # noqa: SIM118, this is no dict
            yield ArrayFile(path.name, arrays, path.stat().st_size)
    except SafetensorError as error:
        raise FormatError(f"{path.name} is truncated or not a safetensors file ({error}); get it again") from None


def write_safetensors(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """A new safetensors file with these arrays."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(whole, path, metadata={"format": "pt"})  # what hubs expect of weights that PyTorch can read


def _lazy(file: Any, path: Path, name: str) -> Array:
    part = file.get_slice(name)
    kind, shape = part.get_dtype(), tuple(part.get_shape())

    def read() -> npt.NDArray[Any]:
        if kind == "BF16":
            return _read_bfloat16(path, name).reshape(shape)
        values: npt.NDArray[Any] = file.get_tensor(name)
        return values

    return Array(shape, kind, kind in FLOATING, read)


def _read_bfloat16(path: Path, name: str) -> Floats:
    """safetensors has no numpy for it, but says where the bytes are."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin, end = json.loads(file.read(size))[name]["data_offsets"]
    return widened(np.fromfile(path, np.dtype(BFLOAT16), (end - begin) // 2, offset=8 + size + begin))


def round_rows(weight: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """[V, D] → numbers [V, D] and scales [V]"""
    largest = np.abs(weight).max(axis=1, initial=0).astype(np.float32) / np.float32(LARGEST)
    scales = (largest.view(np.uint32) & _KEPT).view(np.float32)
    scales[scales < np.finfo(np.float32).tiny] = 0  # a row that small is nothing, and its scale has few bits
    factors = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0, dtype=np.float64)
    return np.rint(weight * factors[:, None]).astype(np.int8), scales


def widen_rows(numbers: npt.NDArray[np.int8], scales: Floats) -> Floats:
    """The way back: numbers [V, D], scales [V] → [V, D]"""
    return numbers.astype(np.float32) * scales[:, None]


def with_widened(file: ArrayFile, weight: str, scale: str) -> ArrayFile:
    """The file as if ``weight`` stood in it as float32, where its rows are rounded and ``scale`` is there too."""
    if scale not in file.arrays:
        return file
    rounded, scales = file.arrays.get(weight), file.arrays[scale]
    if rounded is None:
        raise file.missing(weight)
    if rounded.kind != "I8" or not rounded.shape:
        raise FormatError(f"{file.name}: the array {weight!r} has scales, but holds {rounded.kind} instead of int8")
    if scales.shape != rounded.shape[:1]:
        raise WrongShape(file.name, scale, rounded.shape[:1], scales.shape)
    file.check({scale: scales.shape})
    widened = Array(rounded.shape, "int8", True, lambda: widen_rows(rounded.read(), file.read(scale)))
    arrays = {name: array for name, array in file.arrays.items() if name != scale}
    return replace(file, arrays={**arrays, weight: widened})
