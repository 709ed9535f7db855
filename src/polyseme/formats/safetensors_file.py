"""safetensors files of weights, opened without reading them, and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from polyseme.errors import FormatError
from polyseme.formats.arrays import Array, ArrayFile, Floats
from polyseme.formats.bfloat16 import BFLOAT16, widened

FLOATING = ("F16", "BF16", "F32", "F64")


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
        raise FormatError(f"{path.name} is truncated or no safetensors file ({error}); get it again") from None


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
