"""Part files: what a job has finished so far, each one complete or not there; and the finished file made of them.

    record*   lengths of the three that follow: what the record is (JSON), the array's type and shape, the array
    trailer   JSON: where the part begins and where the job goes on, how much it holds
    u64 length of the trailer, u32 checksums of the records and of the trailer, b"polyseme"

A part is written beside its name, flushed and renamed: after a crash the parts 0 … k are there, and the trailer of the
last says where to go on. A part that was damaged since is computed again. The layout is for this job's own use: when
every share is whole, its parts are put together in the order of the input; `polyseme.embed.read` reads the result.
"""

from __future__ import annotations

import heapq
import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from polyseme.embed.description import Description, Position, Shard
from polyseme.embed.records import Contents, Record, about, describe, from_description, output_format, rows_of
from polyseme.errors import InputError, JobError
from polyseme.jobs.atomic import delete_folder, partial_path, put_in_place, raise_if_disk_full, refuse_existing
from polyseme.jobs.manifests import measure_piece, read_values, refuse_other, write_manifest

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
        self._file: IO[bytes] = partial_path(path).open("wb", buffering=1 << 20)

    def add(self, record: Record) -> None:
        values = np.ascontiguousarray(record.values)
        described, shape = describe(record).encode(), " ".join([values.dtype.str, *map(str, values.shape)]).encode()
        self._write(_LENGTHS.pack(len(described), len(shape), values.nbytes) + described + shape)
        self._write(cast(Any, values.reshape(-1).view(np.uint8)).data)
        self.records += 1
        self.rows += rows_of(record)

    def finish(self, first: Position, following: Position, sentences: int, tokens: int) -> Trailer:
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

    def _write(self, data: bytes | memoryview) -> None:
        self._checksum = zlib.crc32(data, self._checksum)
        self._file.write(data)


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


@dataclass(frozen=True, slots=True)
class Summary:
    """What a finished file holds."""

    documents: int
    sentences: int  # encoded
    tokens: int  # encoded
    records: int
    bytes: int


def parts_folder(out: Path) -> Path:
    return out.with_name(out.name + ".parts")


def mark_complete(folder: Path) -> None:
    """Say that no further part will come."""
    write_manifest(folder / COMPLETE, {"parts": len(find_parts(folder))})


def assemble(out: Path, *, overwrite: bool = False) -> Summary:
    """Make the finished file from the parts of all shares and remove them; JobError if any is missing.

    A file that is there is replaced with ``overwrite``, or if this very job wrote it and was killed then.
    """
    folder = parts_folder(out)
    folders, description = _find_shards(folder)
    if not overwrite and not is_result_of(out, description):
        refuse_existing(out)
    shares = [_whole_share(share) for share in folders]
    trailers = [trailer for share in shares for trailer in share]
    contents = Contents(
        records=lambda: _in_order(folders, arrays=True),
        headers=lambda: _in_order(folders, arrays=False),
        rows=sum(trailer.rows for trailer in trailers),
        about=description.about(),
    )
    _write(out, contents)
    delete_folder(folder)
    return Summary(
        documents=description.documents,
        sentences=sum(trailer.sentences for trailer in trailers),
        tokens=sum(trailer.tokens for trailer in trailers),
        records=sum(trailer.records for trailer in trailers),
        bytes=out.stat().st_size,
    )


def is_result_of(out: Path, description: Description) -> bool:
    """Whether a file was written by this very job."""
    try:
        return out.is_file() and (about(out) or {}).get("job") == description.about()["job"]
    except InputError:
        return False


def _find_shards(folder: Path) -> tuple[list[Path], Description]:
    """The folders of all shares in their order, and the job they belong to."""
    there = [path for path in folder.glob("*-of-*") if re.fullmatch(r"\d+-of-\d+", path.name)]
    if not there:
        raise JobError(f"there is nothing to merge: expected folders such as 1-of-4 in {folder}")
    counts = {int(path.name.split("-")[2]) for path in there}
    if len(counts) > 1:
        raise JobError(f"{folder} holds shares of {sorted(counts)}; keep those of one job")
    count = counts.pop()
    names = [Shard(index, count).name for index in range(count)]
    missing = [name for name in names if not (folder / name / COMPLETE).exists()]
    if missing:
        raise JobError(
            f"{len(missing)} of {len(names)} shares in {folder} are not complete ({', '.join(missing[:8])}); "
            "run those, with --resume if they were started, and merge again"
        )
    descriptions = [Description.read(folder / name / DESCRIPTION) for name in names]
    for name, description in zip(names, descriptions, strict=True):
        what, remedy = f"{folder / name} is a share of another job than {names[0]}", "run one of them again"
        refuse_other(descriptions[0], description, what=what, remedy=remedy)
    return [folder / name for name in names], descriptions[0]


def _whole_share(share: Path) -> list[Trailer]:
    """The trailers of a share's parts; JobError if one is missing or cut off."""
    try:
        expected = read_values(share / COMPLETE)["parts"]
    except (InputError, KeyError) as problem:
        raise JobError(f"{share} cannot be merged: {problem}; run it again with --resume") from None
    trailers = [read_trailer(path) for path in find_parts(share)]
    if len(trailers) != expected:
        raise JobError(f"{share} has {len(trailers)} of its {expected} parts; copy the missing ones, or run it again")
    for before, after in pairwise(trailers):
        if before.next != after.first:
            raise JobError(f"{share} has parts that do not follow each other; delete it and run it again")
    return trailers


def _in_order(folders: list[Path], *, arrays: bool) -> Iterator[Record]:
    """All records in the order of the input: shares hold every n-th document, so they are merged by its number."""

    def share(folder: Path) -> Iterator[Record]:
        for path in find_parts(folder):
            yield from read_part(path, arrays=arrays)

    return heapq.merge(*map(share, folders), key=lambda record: record.document)


def _write(out: Path, contents: Contents) -> None:
    beside = partial_path(out)
    try:
        output_format(out).write(beside, contents)
        put_in_place(beside, out)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        raise_if_disk_full(error, out, "make room and continue with --resume (or --merge); nothing is lost")
        raise
