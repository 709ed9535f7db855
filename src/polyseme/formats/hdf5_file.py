"""HDF5 files of weights, opened without reading them, and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import h5py
import numpy as np

from polyseme.errors import FormatError
from polyseme.formats.arrays import Array, ArrayFile, Floats
from polyseme.formats.hdf5_disk import written_hdf5
from polyseme.formats.hdf5_structure import SIGNATURE, open_structure
from polyseme.formats.hdf5_walk import walk_hdf5


@contextmanager
def open_hdf5(path: Path) -> Iterator[ArrayFile]:
    """The arrays of an HDF5 file, by their paths in it; they can be read while the block lasts."""
    try:
        with open_structure(path) as structure:
            structure.check_all()
        with h5py.File(path, "r") as file:
            yield ArrayFile(path.name, _arrays(file, path.name), path.stat().st_size)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise FormatError(f"{path.name} cannot be read as HDF5: {_reason(path, error)}") from None


def write_hdf5(path: Path, arrays: Mapping[str, Floats]) -> None:
    """A new HDF5 file with these arrays as float32."""
    with written_hdf5(path) as (file, disk):
        for name, values in arrays.items():
            file.create_dataset(name, data=values)
            disk.raise_if_failed()


def _arrays(file: h5py.File, title: str) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, item in walk_hdf5(file, title):
        if item.shape is None:
            continue
        if item.external or item.is_virtual:
            raise FormatError(f"{title}: the array {name!r} keeps its values in another file, which is not read")
        found[name] = Array(item.shape, str(item.dtype), item.dtype.kind == "f", partial(_read, item))
    return found


def _read(item: h5py.Dataset) -> Floats:
    return np.asarray(item[...], dtype=np.float32)


def _reason(path: Path, error: Exception) -> str:
    with path.open("rb") as file:
        if file.read(8) != SIGNATURE:
            return "it is no HDF5 file"
    text = str(error)
    if "truncated" in text:
        return "it is truncated, so copy or download it again"
    return f"it is damaged ({text.splitlines()[0][:120]}), so copy or download it again"
