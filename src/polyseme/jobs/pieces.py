"""Pieces of what a job makes, each with its checksum, so that a flipped bit is noticed where it is.

The checksum is crc32: it sees every flipped bit, can go on with a file that grows, and reads several gigabytes a
second. Large files that are mapped and never read as a whole are checked once; ``.checked.json`` remembers by size and
times that they were.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError
from polyseme.jobs.manifests import write_json

CHECKED = ".checked.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """How long a file is, and the checksum of its content."""

    size: int = 0
    crc32: int = 0

    def plus(self, data: Any) -> Piece:
        """After these bytes have been added."""
        return Piece(self.size + len(data), zlib.crc32(data, self.crc32))


def measure_piece(path: Path, size: int | None = None) -> Piece:
    """A file, or its first ``size`` bytes."""
    piece = Piece()
    with path.open("rb") as file:
        while block := file.read(_BLOCK if size is None else min(_BLOCK, size - piece.size)):
            piece = piece.plus(block)
    return piece


def check_piece(path: Path, piece: Piece) -> None:
    """InputError unless the file is as it was written."""
    if not path.is_file():
        raise InputError(f"{path.name} is missing")
    if (found := path.stat().st_size) != piece.size:
        raise InputError(f"{path.name} has {found} bytes where {piece.size} were expected")
    if measure_piece(path) != piece:
        raise InputError(f"{path.name} is damaged: its checksum is not the one that it was written with")


def check_pieces(folder: Path, pieces: Mapping[str, Piece]) -> None:
    """The same for several files of a folder, but for those that were checked before and have not been touched."""
    before = _remembered(folder)
    for name, piece in pieces.items():
        if name not in before or before[name] != _times(folder / name):
            check_piece(folder / name, piece)
    now = {name: _times(folder / name) for name in pieces}
    if now != before:
        with suppress(OSError):  # a folder that cannot be written is checked every time
            write_json(folder / CHECKED, now)


def _remembered(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / CHECKED).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def _times(path: Path) -> list[int]:
    with suppress(OSError):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]  # a copy has another ctime
    return []
