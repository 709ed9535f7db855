"""The finished file, put together from the parts of all shares, in the order of the input.

A job that was never interrupted writes its file while it computes (`polyseme.embed.beside`) and needs none of this.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from polyseme.embed.description import Description, Shard
from polyseme.embed.parts import (
    COMPLETE,
    DESCRIPTION,
    Trailer,
    find_parts,
    parts_folder,
    read_part,
    read_trailer,
)
from polyseme.embed.records import Contents, Record, about, output_format
from polyseme.errors import InputError, JobError
from polyseme.jobs.atomic import delete_folder, partial_path, put_in_place, raise_if_disk_full, refuse_existing
from polyseme.jobs.manifests import read_values, refuse_other


@dataclass(frozen=True, slots=True)
class Summary:
    """What a finished file holds."""

    documents: int
    sentences: int  # encoded
    tokens: int  # encoded
    records: int
    bytes: int

    @classmethod
    def of(cls, out: Path, description: Description, trailers: list[Trailer]) -> Summary:
        """Of a file that is there, and was written from parts with these trailers."""
        return cls(
            documents=description.documents,
            sentences=sum(trailer.sentences for trailer in trailers),
            tokens=sum(trailer.tokens for trailer in trailers),
            records=sum(trailer.records for trailer in trailers),
            bytes=out.stat().st_size,
        )


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
    return Summary.of(out, description, trailers)


def is_result_of(out: Path, description: Description) -> bool:
    """Whether a file was written by this very job."""
    try:
        return out.is_file() and (about(out) or {}).get("job") == description.about()["job"]
    except InputError:
        return False


def refuse_result_of_another(out: Path, description: Description) -> None:
    """JobError if ``out`` is there, which this job did not write; it names what another job had different."""
    remedy = "choose another name, or replace it with --overwrite"
    found = None
    with suppress(InputError):
        found = about(out) if out.is_file() else None
    if found is not None and "job" in found:
        what, free = f"{out} was written by another job", ("job", "documents", "characters")
        refuse_other(_by_input(found), _by_input(description.about()), what=what, remedy=remedy, free=free)
    if out.exists() or out.is_symlink():
        unknown = "and does not say which job wrote it" if out.suffix == ".jsonl" else "and was not written by this job"
        raise JobError(f"{out} already exists {unknown}; {remedy}")


def _by_input(told: dict[str, Any]) -> dict[str, Any]:
    """What a file says of its job, with the hash of each input by its name, so that a difference names the file."""
    return {**told, "inputs": {one["name"]: one["sha256"] for one in told.get("inputs", ())}}


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
