"""Embeddings as .npy: the matrix alone, and beside it a line of JSON for each record.

    vectors.npy          [rows, W], or with every layer [rows, L+1, W]: tokens, pooled documents or target words
    vectors.npy.jsonl    id, text, tokens, kept, … of each record, in the order of the rows; its last line is the job

With --pool mean, row i of the matrix belongs to line i.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from polyseme.embed.npz import read_matrix, write_matrix
from polyseme.embed.records import BUFFER_BYTES, Contents, Record, describe
from polyseme.errors import InputError
from polyseme.jobs.atomic import replace_when_complete

IN_ONE_PASS = False  # the number of rows stands before them
_JOB = b'{"polyseme":'


def write(path: Path, contents: Contents) -> None:
    """``path`` may still have the name of an unfinished file; the list beside it is complete before the matrix is."""
    with path.open("wb", buffering=BUFFER_BYTES) as file:
        write_matrix(file, contents)
    with replace_when_complete(_beside(path)) as lines:
        for record in contents.headers():
            lines.write(describe(record).encode() + b"\n")
        lines.write(_JOB + json.dumps(contents.about).encode() + b"}\n")


def read(path: Path) -> Iterator[Record]:
    described = about(path)
    if described is None:
        raise InputError(f"{_beside(path)} does not end with its job, so it is not complete; run the job again")
    per_token = not described["pool"] and not described["words"]
    with path.open("rb") as vectors, _beside(path).open("rb") as lines:
        yield from read_matrix(vectors, takewhile(_is_record, lines), per_token=per_token)


def about(path: Path) -> dict[str, Any] | None:
    if not _beside(path).is_file():
        beside = _beside(path).name
        raise InputError(f"{path} has no {beside} next to it that can be read; numpy.load reads the matrix alone")
    last = b""
    with _beside(path).open("rb") as lines:
        for line in lines:
            last = line
    return None if _is_record(last) else json.loads(last)["polyseme"]


def _beside(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".partial") + ".jsonl")


def _is_record(line: bytes) -> bool:
    return not line.startswith(_JOB)
