"""Embeddings as JSON lines: an object for each record, with its vectors; large, but every program reads it.

{"id": "7", "text": "…", "tokens": […], "kept": {"stars": 4}, …, "vectors": [[0.25, …], …]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.embed.records import BUFFER_BYTES, Contents, Record, describe, from_description
from polyseme.errors import InputError

IN_ONE_PASS = True


def write(path: Path, contents: Contents) -> None:
    with path.open("wb", buffering=BUFFER_BYTES) as file:
        for record in contents.records():
            file.write(line_of(record))


def line_of(record: Record) -> bytes:
    """One record; a number has as many digits as tell it apart from its neighbours in the file's type."""
    values = record.values
    fields = {"dtype": values.dtype.name, "shape": list(values.shape), "vectors": _numbers(values)}
    return f"{describe(record)[:-1]},{json.dumps(fields)[1:]}\n".encode()


def read(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                fields = json.loads(line)
                values = np.array(fields.pop("vectors"), fields.pop("dtype")).reshape(fields.pop("shape"))
                record = from_description(json.dumps(fields), values)
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}, line {number} is not a record of polyseme embed that can be read") from None
            yield record


def about(path: Path) -> dict[str, Any] | None:
    """None: the lines are records and nothing else."""
    next(read(path), None)
    return None


def _numbers(values: np.ndarray[Any, Any]) -> Any:
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [float(str(value)) for value in values]
