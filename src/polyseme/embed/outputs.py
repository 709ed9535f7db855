"""What an embedding file is made from, and which format its suffix stands for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from polyseme.embed.records import Record
from polyseme.errors import ConfigError, InputError

_FORMATS = {
    ".hdf5": "polyseme.embed.hdf5",
    ".h5": "polyseme.embed.hdf5",
    ".parquet": "polyseme.embed.parquet",
    ".npz": "polyseme.embed.npz",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that goes into one file; ``records()`` and ``headers()`` may be called more than once."""

    records: Callable[[], Iterator[Record]]
    headers: Callable[[], Iterator[Record]]  # the same records without their values
    rows: int
    about: dict[str, Any]  # the job: kept in the file, so that it says where it comes from

    @property
    def for_words(self) -> bool:
        return bool(self.about.get("words"))

    @property
    def pooled(self) -> bool:
        return bool(self.about.get("pool"))


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """One format: ``write(path, contents)``, ``read(path)``, and ``about(path)``: the job that wrote it, or None."""

    write: Callable[[Path, Contents], None]
    read: Callable[[Path], Iterator[Record]]
    about: Callable[[Path], dict[str, Any] | None]


def output_format(path: Path) -> OutputFormat:
    """The format of ``path`` by its suffix; its packages are there when this returns."""
    name = _FORMATS.get(path.suffix.lower())
    if name is None:
        raise ConfigError(f"{path} has the suffix {path.suffix or 'none'!r}; expected one of {', '.join(_FORMATS)}")
    module = import_module(name)
    return OutputFormat(module.write, module.read, module.about)


def read(path: str | Path) -> Iterator[Record]:
    """The records of an embedding file, one after another, in the order of the input.

    for record in polyseme.embed.read("vectors.h5"):
        record.id, record.tokens, record.vectors

    A folder of Parquet shards, as a Ray cluster writes it, reads like one file.
    """
    path = Path(path)
    if path.is_dir():
        shards = [output_format(shard).read(shard) for shard in _shards(path)]
        return heapq.merge(*shards, key=lambda record: record.document)
    if not path.is_file():
        raise InputError(f"{path} does not exist, or is no file")
    return output_format(path).read(path)


def about(path: str | Path) -> dict[str, Any] | None:
    """The job that wrote the file: model, options, inputs; None if it says nothing of it."""
    path = _shards(Path(path))[0] if Path(path).is_dir() else Path(path)
    return output_format(path).about(path)


def _shards(folder: Path) -> list[Path]:
    shards = sorted(folder.glob("*.parquet"))
    if not shards:
        raise InputError(f"{folder} is a folder without Parquet shards; give an embedding file")
    return shards
