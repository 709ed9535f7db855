"""The heaps of an HDF5 file, in which it keeps texts of any length, checked before libhdf5 reads them.

    "GCOL", 1, 0 0 0, u64 size of the heap, then objects: u16 number, u16 references, u32 0, u64 size, content

An object with the number 0 is free room, and its size counts its own head. One with the size 0, or one that is larger
than its heap, sends libhdf5 round and round for ever, and nothing can stop it there.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from polyseme.errors import InputError

LARGEST_CHECKED = 1 << 30  # bytes of a file: a quarter of a second; a larger one is read as it is
_SIGNATURE = b"GCOL\x01\0\0\0"
_OBJECT = struct.Struct("<HHIQ")
_HEAD = 16


def check_heaps(path: Path) -> None:
    """InputError where an object of a heap cannot have the size that it says."""
    if not 0 < path.stat().st_size <= LARGEST_CHECKED:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(_SIGNATURE)
        while start >= 0:
            if start % 8 == 0:
                _check_heap(data, start, path)
            start = data.find(_SIGNATURE, start + 1)


def _check_heap(data: mmap.mmap, start: int, path: Path) -> None:
    size = int.from_bytes(data[start + 8 : start + 16], "little")
    end = min(start + size, len(data))
    place = start + _HEAD
    while place + _OBJECT.size <= end:
        number, _, _, length = _OBJECT.unpack_from(data, place)
        if length > size or (number == 0 and length < _OBJECT.size):
            raise InputError(f"{path} is damaged: an object at byte {place} cannot have the size that it says")
        place += length if number == 0 else _OBJECT.size + -(-length // 8) * 8
