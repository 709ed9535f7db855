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
    from _typeshed import ReadableBuffer, WriteableBuffer

DEEPEST = 64  # nested groups; weights have six
MOST_OBJECTS = 1_000_000
GATHERED_BYTES = 1 << 20  # of a file that is written


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
    """A new file that gathers small writes, and keeps a failed one to itself until it is asked.

    HDF5 writes an array, then a few hundred bytes about it, then the next one: three calls of the system for each. What
    it writes at the file's end is gathered here, so that the system gets a megabyte at a time.

    HDF5 cannot close a file that it cannot write to: on a full disk the process crashed (HDF5 2.0.0). So HDF5 is told
    that all is well, and the error is raised separately.
    """

    failure: OSError | None = None

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+b")
        self._held = memoryview(bytearray(GATHERED_BYTES))
        self._begin = self._filled = 0  # the place in the file of what is held, and how much that is
        self._at = 0  # where the next read or write begins
        self._end = 0  # of what has been given to the system

    def write(self, data: ReadableBuffer) -> int:
        rest = memoryview(data).cast("B")
        size, first = len(rest), self._at - self._begin
        if first + size <= 0:  # before what is held
            self._give(rest, self._at)
        else:
            is_last = self._begin + self._filled >= self._end
            if first < 0 or first + size > GATHERED_BYTES or (first > self._filled and not is_last):
                self.flush()
                self._begin, first = self._at, 0
            if size > GATHERED_BYTES:
                self._give(rest, self._at)
            else:
                self._hold(rest, first)
        self._at += size
        return size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET:
            self._at = offset
        else:
            self.flush()
            self._at = super().seek(offset, whence)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        self.flush()
        super().seek(self._at)
        count = super().readinto(buffer) or 0
        self._at += count
        return count

    def truncate(self, size: int | None = None) -> int:
        self.flush()
        try:
            return super().truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0

    def flush(self) -> None:
        if self._filled:
            held, self._filled = self._held[: self._filled], 0
            self._give(held, self._begin)

    def close(self) -> None:
        if not self.closed:
            self.flush()
        super().close()

    def raise_if_failed(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _hold(self, data: memoryview, first: int) -> None:
        if first > self._filled:  # nobody has written there yet, so the file would be zero there
            self._held[self._filled : first] = bytes(first - self._filled)
        self._held[first : first + len(data)] = data
        self._filled = max(self._filled, first + len(data))

    def _give(self, data: memoryview, place: int) -> None:
        """To the system, unless that has failed before."""
        self._end = max(self._end, place + len(data))
        try:
            if self.failure is None:
                super().seek(place)
            while data and self.failure is None:
                data = data[super().write(data) :]
        except OSError as error:
            self.failure = error


@contextmanager
def written_hdf5(path: Path, libver: str | None = None) -> Iterator[tuple[h5py.File, Disk]]:
    """A new file, and the disk behind it, which can be asked on the way; a write that failed is raised in the end."""
    with Disk(path) as disk:
        with h5py.File(disk, "w", libver=libver) as file:
            yield file, disk
        disk.flush()
        disk.raise_if_failed()
