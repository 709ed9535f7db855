"""Part files: what a job has finished so far, each one complete or not there.

    record*   lengths of the three that follow: what the record is (JSON), the array's type and shape, the array
    trailer   JSON: where the part begins and where the job goes on, how much it holds
    u64 length of the trailer, u32 checksums of the records and of the trailer, b"polyseme"

A part is written beside its name, flushed and renamed: after a crash the parts 0 … k are there, and the trailer of the
last says where to go on. A part that was damaged since is computed again. The layout is for this job's own use.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from polyseme.embed.description import Position
from polyseme.embed.records import BUFFER_BYTES, Record, describe, from_description, rows_of
from polyseme.errors import JobError
from polyseme.jobs.atomic import partial_path, put_in_place
from polyseme.jobs.manifests import measure_piece, write_manifest

DESCRIPTION, COMPLETE, LOCK = "job.json", "complete.json", "lock"
_LENGTHS = struct.Struct("<IIQ")
_END = struct.Struct("<QII8s")
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
        self.records = self.rows = self._checksum = 0
        self._file: IO[bytes] = partial_path(path).open("wb")
        self._held = bytearray()  # given away by the megabyte: every checksum and write lets go of the interpreter

    def add(self, record: Record) -> None:
        values = np.ascontiguousarray(record.values)
        described, shape = describe(record).encode(), " ".join([values.dtype.str, *map(str, values.shape)]).encode()
        self._held += _LENGTHS.pack(len(described), len(shape), values.nbytes) + described + shape
        self._held += cast(Any, values.reshape(-1).view(np.uint8)).data
        if len(self._held) >= BUFFER_BYTES:
            self._give()
        self.records += 1
        self.rows += rows_of(record)

    def finish(self, first: Position, following: Position, sentences: int, tokens: int) -> Trailer:
        self._give()
        trailer = Trailer(first, following, self.records, self.rows, sentences, tokens)
        encoded = json.dumps(asdict(trailer)).encode()
        self._file.write(encoded)
        self._file.write(_END.pack(len(encoded), self._checksum, zlib.crc32(encoded), _MAGIC))
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

    def _give(self) -> None:
        self._checksum = zlib.crc32(self._held, self._checksum)
        self._file.write(self._held)
        self._held.clear()


def read_part(path: Path, *, arrays: bool = True) -> Iterator[Record]:
    """The records of a part; without ``arrays`` their values are empty and are not read.

    JobError where the part is damaged: at its end at the latest, but only if the arrays are read.
    """
    with path.open("rb") as file:
        end, checksum, _ = _find_trailer(file, path)
        found = 0

        def take(size: int) -> bytes:
            nonlocal found
            data = file.read(size)
            found = zlib.crc32(data, found)
            return data

        file.seek(0)
        while file.tell() < end:
            try:
                lengths = _LENGTHS.unpack(take(_LENGTHS.size))
                if sum(lengths) > end - file.tell():
                    raise _damaged(path)
                described, (dtype, *shape) = take(lengths[0]), take(lengths[1]).decode().split()
                if arrays:
                    values = np.frombuffer(take(lengths[2]), dtype).reshape([int(size) for size in shape])
                else:
                    file.seek(lengths[2], 1)
                    values = np.empty([0] * len(shape), dtype)
                record = from_description(described, values)
            except Exception:  # whatever JSON and numpy make of damaged bytes
                raise _damaged(path) from None
            yield record
        if arrays and found != checksum:
            raise _damaged(path)


def read_trailer(path: Path) -> Trailer:
    with path.open("rb") as file:
        data = _find_trailer(file, path)[2]
    return Trailer(**{**data, "first": tuple(data["first"]), "next": tuple(data["next"])})


def whole_trailer(path: Path) -> Trailer | None:
    """The same of a part that is as it was written; None for one that is damaged."""
    try:
        with path.open("rb") as file:
            end, checksum, _ = _find_trailer(file, path)
        return read_trailer(path) if measure_piece(path, end).crc32 == checksum else None
    except JobError:
        return None


def _find_trailer(file: IO[bytes], path: Path) -> tuple[int, int, dict[str, Any]]:
    """(where the records end, their checksum, the trailer)."""
    size = file.seek(0, 2)
    if size >= _END.size:
        file.seek(size - _END.size)
        length, of_records, of_trailer, magic = _END.unpack(file.read(_END.size))
        if magic == _MAGIC and length <= size - _END.size:
            file.seek(size - _END.size - length)
            trailer = file.read(length)
            if zlib.crc32(trailer) == of_trailer:
                return size - _END.size - length, of_records, json.loads(trailer)
    raise _damaged(path)


def _damaged(path: Path) -> JobError:
    return JobError(
        f"{path} is damaged: its checksum does not match; "
        "run the job again with --resume, which computes that part anew"
    )


def part_path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.part"


def find_parts(folder: Path) -> list[Path]:
    """The parts 0, 1, … that are there without a gap."""
    paths: list[Path] = []
    while (path := part_path(folder, len(paths))).exists():
        paths.append(path)
    return paths


def parts_folder(out: Path) -> Path:
    return out.with_name(out.name + ".parts")


def mark_complete(folder: Path) -> None:
    """Say that no further part will come."""
    write_manifest(folder / COMPLETE, {"parts": len(find_parts(folder))})
