"""HDF5 files that are written, also to a disk that runs full."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Disk(io.FileIO):
    """A file that keeps a failed write to itself until it is asked.

    HDF5 cannot close a file that it cannot write to: on a full disk the process crashed (HDF5 2.0.0). So HDF5
    is told that all is well, and the error is raised beside it.
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
    """A new file, and the disk behind it, which can be asked on the way; a write that failed is raised in the end."""
    with Disk(path, "w+b") as disk:
        with h5py.File(disk, "w", libver=libver) as file:
            yield file, disk
        disk.raise_if_failed()
