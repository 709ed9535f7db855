"""An input as it was when a job began, by its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError


@dataclass(frozen=True, slots=True)
class InputFile:
    """What cannot be read twice (standard input) has no size and no hash."""

    name: str
    size: int | None
    sha256: str | None


def describe_input(path: str | Path, name: str | None = None) -> InputFile:
    """A file, or a folder of files."""
    path = Path(path)
    sha256 = sha256_of(path)
    return InputFile(name or str(path), sum(file.stat().st_size for file in _files_of(path)), sha256)


def sha256_of(path: Path) -> str:
    """The hash of a file; of a folder, that of all names and hashes, as sha256sum prints them."""
    lines = [f"{_sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in _files_of(path) if file != path]
    joined = "".join(lines).encode("utf-8", "surrogateescape")
    return hashlib.sha256(joined).hexdigest() if path.is_dir() else _sha256(path)


def _files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
