"""The size of a folder on disk, for the benchmarks that install something."""

from __future__ import annotations

from pathlib import Path


def megabytes(folder: Path) -> int:
    """Without the targets of symbolic links, which belong to somebody else: Python's own programs, say."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return round(sum(path.stat().st_size for path in found) / 1e6)
