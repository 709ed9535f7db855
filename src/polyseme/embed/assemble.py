"""Parts → the finished file: every share whole, in the order of the input, under its name only when complete."""

from __future__ import annotations

import heapq
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from polyseme.embed.description import Description
from polyseme.embed.outputs import Contents, output_format
from polyseme.embed.parts import Trailer, find_parts, read_part, read_trailer
from polyseme.embed.passages import Shard
from polyseme.embed.records import Record
from polyseme.errors import JobError
from polyseme.files.atomic import partial_path, put_in_place, raise_if_disk_full, replace_when_complete

DESCRIPTION, COMPLETE, LOCK = "job.json", "complete.json", "lock"


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
    with replace_when_complete(folder / COMPLETE) as file:
        file.write(json.dumps({"parts": len(find_parts(folder))}).encode())


def assemble(out: Path) -> Summary:
    """Make the finished file from the parts of all shares and remove them; JobError if any is missing."""
    folder = parts_folder(out)
    folders, description = _find_shards(folder)
    shares = [_whole_share(share) for share in folders]
    trailers = [trailer for share in shares for trailer in share]
    contents = Contents(
        records=lambda: _in_order(folders, arrays=True),
        headers=lambda: _in_order(folders, arrays=False),
        rows=sum(trailer.rows for trailer in trailers),
        about=description.about(),
    )
    _write(out, contents)
    remove_parts(folder)
    return Summary(
        documents=description.documents,
        sentences=sum(trailer.sentences for trailer in trailers),
        tokens=sum(trailer.tokens for trailer in trailers),
        records=sum(trailer.records for trailer in trailers),
        bytes=out.stat().st_size,
    )


def remove_parts(folder: Path) -> None:
    """Renamed first: a kill in the middle must not leave half a folder that looks like an unfinished job."""
    done = folder.with_name(folder.name + ".done")
    shutil.rmtree(done, ignore_errors=True)
    if folder.exists():
        folder.replace(done)
        shutil.rmtree(done, ignore_errors=True)


def _find_shards(folder: Path) -> tuple[list[Path], Description]:
    """The folders of all shares in their order, and the job they belong to."""
    there = [path for path in folder.glob("*-of-*") if re.fullmatch(r"\d+-of-\d+", path.name)]
    if not there:
        raise JobError(f"there is nothing to put together: expected folders such as 1-of-4 in {folder}")
    counts = {int(path.name.split("-")[2]) for path in there}
    if len(counts) > 1:
        raise JobError(f"{folder} holds shares of {sorted(counts)}; keep those of one job")
    count = counts.pop()
    names = [Shard(index, count).name for index in range(count)]
    missing = [name for name in names if not (folder / name / COMPLETE).exists()]
    if missing:
        raise JobError(
            f"{len(missing)} of {len(names)} shares in {folder} are not complete ({', '.join(missing[:8])}); "
            "run those, with --resume where they were begun, and merge again"
        )
    descriptions = [Description.read(folder / name / DESCRIPTION) for name in names]
    for name, description in zip(names, descriptions, strict=True):
        description.refuse_other(descriptions[0], folder / name)
    return [folder / name for name in names], descriptions[0]


def _whole_share(share: Path) -> list[Trailer]:
    """The trailers of a share's parts; JobError if one is missing or cut off."""
    expected = json.loads((share / COMPLETE).read_bytes())["parts"]
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
        raise_if_disk_full(error, out, "make room and go on with --resume (or --merge); nothing is lost")
        raise
