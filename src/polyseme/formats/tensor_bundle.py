"""TensorFlow's tensor bundle: ``prefix.index``, a sorted table of names, and ``prefix.data-…``, the raw values.

The index is a LevelDB table. Its last 48 bytes point to an index block, that to data blocks, and these map a
variable's name to a small protocol buffer: type, shape, shard, offset and size of its values. Every block and every
variable has a crc32c, which is checked when it is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError
from polyseme.formats.arrays import Array, ArrayFile
from polyseme.formats.crc32c import crc32c, masked

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
LARGEST_INDEX = 64 << 20
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}
Fields = dict[int, list[int | bytes]]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the values of a variable are."""

    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int | None  #: crc32c, masked


class _Damaged(Exception):
    """The bytes do not follow the format; the reason says where."""


@contextmanager
def open_bundle(prefix: Path) -> Iterator[ArrayFile]:
    """The variables of a checkpoint by name; they can be read within the block."""
    shards, entries = read_index(prefix.with_name(prefix.name + ".index"))
    files = [prefix.with_name(f"{prefix.name}.data-{number:05d}-of-{shards:05d}") for number in range(shards)]
    for path in files:
        if not path.is_file():
            raise FormatError(f"the checkpoint's file {path.name} is missing")
    sizes = [path.stat().st_size for path in files]
    arrays = {}
    for name, entry in entries.items():
        if entry.shard >= shards or entry.offset + entry.size > sizes[entry.shard]:
            path = files[min(entry.shard, shards - 1)]
            raise FormatError(f"{path.name} is truncated: the variable {name!r} would lie beyond its end")
        arrays[name] = _array(name, entry, files[entry.shard])
    yield ArrayFile(prefix.name, arrays, sum(sizes))


def read_index(path: Path) -> tuple[int, dict[str, Entry]]:
    """The number of data files, and every variable."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    if path.stat().st_size > LARGEST_INDEX:
        raise FormatError(f"{path.name} has {path.stat().st_size:,} bytes, too many for a checkpoint's index")
    data = path.read_bytes()
    try:
        shards, entries = 1, {}
        for key, value in _table(data):
            fields = _fields(value)
            if key:
                entries[key.decode("utf-8")] = _entry(fields)
            else:
                shards = _number(fields, 1, default=1)
    except (_Damaged, IndexError, struct.error, UnicodeDecodeError) as error:
        raise FormatError(f"{path.name} is damaged or not a TensorFlow checkpoint ({error}); get it again") from None
    if not 1 <= shards <= 100_000:
        raise FormatError(f"{path.name} is damaged: it names {shards} data files")
    return shards, entries


def _array(name: str, entry: Entry, path: Path) -> Array:
    kind = DTYPES.get(entry.dtype)
    if kind is None:
        return Array(entry.shape, f"TensorFlow's number {entry.dtype}", False, lambda: np.empty(0))
    dtype = np.dtype(kind)
    count = 1
    for size in entry.shape:
        count *= size
    if count * dtype.itemsize != entry.size:
        raise FormatError(
            f"the checkpoint's variable {name!r} has {entry.size} bytes for the shape {list(entry.shape)}"
        )

    def read() -> npt.NDArray[np.generic]:
        values = np.fromfile(path, dtype=dtype, count=count, offset=entry.offset)
        if entry.checksum is not None and masked(crc32c(values.view(np.uint8))) != entry.checksum:
            raise FormatError(f"{path.name} is damaged: the variable {name!r} does not have its checksum; get it again")
        return values.astype(dtype.newbyteorder("="), copy=False).reshape(entry.shape)

    return Array(entry.shape, dtype.name, dtype.kind == "f", read)


def _table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All entries of the table, block by block."""
    if len(data) < FOOTER or struct.unpack("<Q", data[-8:])[0] != MAGIC:
        raise _Damaged("its last bytes are not those of a table")
    footer, position = data[-FOOTER:], 0
    where = list[int]()  # offset and size of the metaindex block, which is not needed, and of the index block
    for _ in range(4):
        number, position = _varint(footer, position)
        where.append(number)
    list(_block(data, *where[:2]))
    for _, handle in _block(data, *where[2:]):
        start, position = _varint(handle, 0)
        length, _ = _varint(handle, position)
        yield from _block(data, start, length)


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    if offset + size + 5 > len(data):
        raise _Damaged("a block lies beyond its end")
    if data[offset + size] != 0:
        raise _Damaged("a block is compressed")
    if masked(crc32c(data[offset : offset + size + 1])) != _fixed32(data[offset + size + 1 : offset + size + 5]):
        raise _Damaged("a block does not have its checksum")
    block = data[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = size - 4 - 4 * restarts
    if end < 0:
        raise _Damaged("a block is shorter than it says")
    position, key = 0, b""
    while position < end:
        shared, position = _varint(block, position)
        unshared, position = _varint(block, position)
        length, position = _varint(block, position)
        if shared > len(key) or position + unshared + length > end:
            raise _Damaged("an entry lies beyond the end of its block")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + length]
        position += length


def _entry(fields: Fields) -> Entry:
    shape = fields.get(2, [b""])[0]
    dimensions = _fields(shape).get(2, []) if isinstance(shape, bytes) else []
    sizes = tuple(_number(_fields(dimension), 1) for dimension in dimensions if isinstance(dimension, bytes))
    checksum = fields.get(6, [None])[0]
    return Entry(
        dtype=_number(fields, 1),
        shape=sizes,
        shard=_number(fields, 3),
        offset=_number(fields, 4),
        size=_number(fields, 5),
        checksum=_fixed32(checksum) if isinstance(checksum, bytes) else None,
    )


def _fixed32(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _number(fields: Fields, field: int, default: int = 0) -> int:
    value = fields.get(field, [default])[0]
    if not isinstance(value, int) or value >= 1 << 62:
        raise _Damaged(f"field {field} of an entry is not a number of a size")
    return value


def _fields(data: bytes) -> Fields:
    """A protocol buffer's fields: numbers and bytes, in order."""
    found: Fields = {}
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        field, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == 0:
            value, position = _varint(data, position)
        elif kind in (1, 2, 5):
            length, position = _varint(data, position) if kind == 2 else ({1: 8, 5: 4}[kind], position)
            value, position = data[position : position + length], position + length
            if position > len(data):
                raise _Damaged("an entry is cut off")
        else:
            raise _Damaged(f"an entry has a field of kind {kind}")
        found.setdefault(field, []).append(value)
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise _Damaged("a number does not end")
