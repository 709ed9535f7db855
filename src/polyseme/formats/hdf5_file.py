"""HDF5 files: opened without being read, walked within bounds, and written safely even if the disk runs full.

libhdf5's own visit looks up every group from the root: 2,000 nested groups, in a file of 2 MB, take seconds, and twice
as many take minutes. So here arrays are found group by group.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from polyseme.errors import FormatError
from polyseme.formats.arrays import Array, ArrayFile, Floats
from polyseme.formats.hdf5_structure import SIGNATURE, open_structure

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DEEPEST = 64  # nested groups; weights have six
MOST_OBJECTS = 1_000_000


@contextmanager
def open_hdf5(path: Path) -> Iterator[ArrayFile]:
    """The arrays of an HDF5 file, by path; they can be read within the block."""
    try:
        with open_structure(path) as structure:
            structure.check_all()
        with h5py.File(path, "r") as file:
            yield ArrayFile(path.name, _arrays(file, path.name), path.stat().st_size)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise FormatError(f"{path.name} cannot be read as HDF5: {_reason(path, error)}") from None


def write_hdf5(path: Path, arrays: Mapping[str, Floats]) -> None:
    """Write a new HDF5 file with these arrays as float32."""
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


def walk_hdf5(
    file: h5py.File, title: str, *, deepest: int = DEEPEST, check: Callable[[h5py.Group], None] | None = None
) -> Iterator[tuple[str, Any]]:
    """(path, dataset), depth first; links out of the file are not followed.

    ``check`` is called with each group before anything is looked up in it.
    """
    open_groups: list[tuple[str, h5py.Group, Iterator[str]]] = [("", file, iter(file))]
    seen = 0
    while open_groups:
        prefix, group, names = open_groups[-1]
        name = next(names, None)
        if name is None:
            open_groups.pop()
            continue
        seen += 1
        if seen > MOST_OBJECTS:
            raise FormatError(f"{title} has more than {MOST_OBJECTS:,} groups and arrays; it was not read")
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield prefix + name, item
        elif isinstance(item, h5py.Group):
            if len(open_groups) > deepest:
                raise FormatError(f"{title} has more than {deepest} groups within each other; it was not read")
            if check is not None:
                check(item)
            open_groups.append((f"{prefix}{name}/", item, iter(item)))


class Disk(io.FileIO):
    """A file that hides a failed write until it is asked.

    HDF5 cannot close a file that it cannot write to: on a full disk the process crashed (HDF5 2.0.0). So HDF5 is told
    that all is well, and the error is raised separately.
    """

    failure: OSError | None = None

    def write(self, data: ReadableBuffer) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and self.failure is None:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.failure = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0

    def raise_if_failed(self) -> None:
        if self.failure is not None:
            raise self.failure


@contextmanager
def written_hdf5(path: Path, libver: str | None = None) -> Iterator[tuple[h5py.File, Disk]]:
    """A new file, and the disk behind it, which can be asked for errors; a failed write is raised at the end."""
    with Disk(path, "w+b") as disk:
        with h5py.File(disk, "w", libver=libver) as file:
            yield file, disk
        disk.raise_if_failed()
