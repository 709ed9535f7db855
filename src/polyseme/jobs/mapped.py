"""Arrays that stay on the disk and come from there as they are touched."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError


def map_file(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """A read-only array over a file that must have exactly this size."""
    if not path.is_file():
        raise InputError(f"{path.name} is missing")
    expected, found = count * dtype.itemsize, path.stat().st_size
    if found != expected:
        raise InputError(f"{path.name} has {found} bytes where {expected} were expected")
    return np.memmap(path, dtype, mode="r", shape=(count,))


def release(*arrays: NDArray[Any]) -> None:
    """Give back the memory of what was touched of mapped files; touched again, it comes again."""
    advice = getattr(mmap, "MADV_DONTNEED", None)  # Windows has none, and takes the memory when it needs it
    for array in arrays:
        pages = getattr(array, "_mmap", None)
        if advice is not None and pages is not None:
            pages.madvise(advice)
