"""Static vectors by what they are: a package by its name, a file by its content."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polyseme.tasks.run import describe_file
from polyseme.tasks.static import PACKAGE


def identify_static(source: str) -> str:
    """What results depend on: the digest of a file, wherever it lies; a package's name as it is."""
    path = Path(source)
    if source == PACKAGE or not path.is_file():
        return source
    found = path.stat()
    return _digest(path, found.st_mtime_ns, found.st_size)


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    """Read once for all runs of a plan: such files have gigabytes."""
    return describe_file(path)["sha256"]
