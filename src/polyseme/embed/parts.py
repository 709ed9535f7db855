"""Part files: what a job has finished so far, each one complete or not there.

    record*   lengths of the three that follow: what the record is (JSON), the array's type and shape, the array
    trailer   JSON: where the part begins and where the job goes on, how much it holds
    u64 length of the trailer, b"polyseme"

A part is written beside its name, flushed and renamed: after a crash the parts 0 … k are there, and the trailer of the
last says where to go on. The layout is for this job's own use; `polyseme.embed.read` reads what it is made into.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from polyseme.embed.passages import Position
from polyseme.embed.records import Record, describe, from_description
from polyseme.errors import JobError
from polyseme.files.atomic import partial_path, put_in_place

_LENGTHS = struct.Struct("<IIQ")
_END = struct.Struct("<Q8s")
_MAGIC = b"polyseme"


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a part holds."""

    first: Position
    next: Position
    records: int
    rows: int  # of values over all records: tokens of sentences; 1 for a pooled document or a target word
    sentences: int  # that were encoded
    tokens: int


class PartWriter:
    """Writes one part; it has its name only after ``finish``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = self.rows = self.bytes = 0
        self._file: IO[bytes] = partial_path(path).open("wb", buffering=1 << 20)

    def add(self, record: Record) -> None:
        values = np.ascontiguousarray(record.values)
        described, shape = describe(record).encode(), " ".join([values.dtype.str, *map(str, values.shape)]).encode()
        self._file.write(_LENGTHS.pack(len(described), len(shape), values.nbytes) + described + shape)
        self._file.write(cast(Any, values.reshape(-1)).data)
        self.records += 1
        self.rows += rows_of(record)
        self.bytes += values.nbytes

    def finish(self, first: Position, following: Position, sentences: int, tokens: int) -> Trailer:
        trailer = Trailer(first, following, self.records, self.rows, sentences, tokens)
        encoded = json.dumps(asdict(trailer)).encode()
        self._file.write(encoded)
        self._file.write(_END.pack(len(encoded), _MAGIC))
        self._file.close()
        put_in_place(partial_path(self.path), self.path)
        return trailer

    def abandon(self) -> None:
        """Close and remove the unfinished file, so that it takes no room; close may fail where write did."""
        try:
            self._file.close()
        except OSError:
            pass
        finally:
            partial_path(self.path).unlink(missing_ok=True)


def rows_of(record: Record) -> int:
    """How many vectors (of one layer) a record holds."""
    per_token = record.values.ndim - record.has_layers == 2
    return record.values.shape[-2] if per_token else 1


def read_part(path: Path, *, arrays: bool = True) -> Iterator[Record]:
    """The records of a part; without ``arrays`` their values are empty and are not read."""
    with path.open("rb") as file:
        end = _find_trailer(file, path)[0]
        file.seek(0)
        while file.tell() < end:
            lengths = _LENGTHS.unpack(file.read(_LENGTHS.size))
            described, (dtype, *shape) = file.read(lengths[0]), file.read(lengths[1]).decode().split()
            if arrays:
                values = np.frombuffer(file.read(lengths[2]), dtype).reshape([int(size) for size in shape])
            else:
                file.seek(lengths[2], 1)
                values = np.empty([0] * len(shape), dtype)
            yield from_description(described, values)


def read_trailer(path: Path) -> Trailer:
    with path.open("rb") as file:
        data = _find_trailer(file, path)[1]
    return Trailer(**{**data, "first": tuple(data["first"]), "next": tuple(data["next"])})


def _find_trailer(file: IO[bytes], path: Path) -> tuple[int, dict[str, Any]]:
    """(where the records end, the trailer)."""
    size = file.seek(0, 2)
    if size >= _END.size:
        file.seek(size - _END.size)
        length, magic = _END.unpack(file.read(_END.size))
        if magic == _MAGIC and length <= size - _END.size:
            file.seek(size - _END.size - length)
            return size - _END.size - length, json.loads(file.read(length))
    raise JobError(f"{path} is not whole; copy it again, or delete it and run the job again with --resume")


def part_path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.part"


def find_parts(folder: Path) -> list[Path]:
    """The parts 0, 1, … that are there without a gap."""
    paths: list[Path] = []
    while (path := part_path(folder, len(paths))).exists():
        paths.append(path)
    return paths
