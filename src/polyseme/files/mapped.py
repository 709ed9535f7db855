"""Arrays that stay on the disk and come from there as they are touched."""

from __future__ import annotations

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
