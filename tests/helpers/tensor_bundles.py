"""A writer of TensorFlow's checkpoint format, from its description, for tests that need other contents."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from polyseme.formats.crc32c import crc32c, masked

MAGIC = 0xDB4775248B80FB57
NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "int64": 9}


def write_bundle(prefix: Path, variables: Mapping[str, np.ndarray], shards: int = 1, *, checksums: bool = True) -> None:
    """prefix.index and its data files, the variables dealt out to them in turn."""
    data = [b"" for _ in range(shards)]
    entries = [(b"", _number(1, shards))]
    for number, name in enumerate(sorted(variables)):
        values, shard = variables[name], number % shards
        shape = b"".join(_bytes(2, _number(1, size)) for size in values.shape)
        entry = _number(1, NUMBERS[values.dtype.name]) + _bytes(2, shape) + _number(3, shard)
        content = values.astype(values.dtype.newbyteorder("<")).tobytes()
        entry += _number(4, len(data[shard])) + _number(5, len(content))
        entry += b"\x35" + _checksum(content) if checksums else b""
        entries.append((name.encode(), entry))
        data[shard] += content
    for shard, content in enumerate(data):
        prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{shards:05d}").write_bytes(content)
    prefix.with_name(f"{prefix.name}.index").write_bytes(_table(entries))


def _table(entries: list[tuple[bytes, bytes]]) -> bytes:
    first = _block(entries[:3])  # two blocks, so that a reader cannot get away with one
    second = _block(entries[3:])
    handles = [(b"a", _varint(0) + _varint(len(first) - 5))]
    handles.append((b"z", _varint(len(first)) + _varint(len(second) - 5)))
    meta, index = _block([]), _block(handles)
    body = first + second
    footer = _varint(len(body)) + _varint(len(meta) - 5) + _varint(len(body) + len(meta)) + _varint(len(index) - 5)
    return body + meta + index + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def _block(entries: list[tuple[bytes, bytes]]) -> bytes:
    content, last = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(last)) and key[shared] == last[shared]:
            shared += 1
        content += _varint(shared) + _varint(len(key) - shared) + _varint(len(value)) + key[shared:] + value
        last = key
    content += struct.pack("<II", 0, 1) + b"\0"
    return content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    return struct.pack("<I", masked(crc32c(content)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = b""
    while value >= 0x80:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])
