"""What would do the work here: the kernel or numpy, on how many cores, and whether PyTorch is there for the rest."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from polyseme.engine.blas import blas_names
from polyseme.engine.pool import usable_cores
from polyseme.extras import has_torch
from polyseme.kernel.library import VARIABLE, available, library


def describe_engine() -> dict[str, Any]:
    """Plain values, in the order in which they are shown."""
    kernel = library()
    return {
        "engine": f"kernel, {kernel.instruction_set}" if kernel else _without_kernel(),
        "kernels_here": available(),
        "threads": usable_cores(),
        "cores": os.cpu_count(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "numpy": f"{version('numpy')}, {', '.join(blas_names()) or 'a BLAS without a name'}",
        "pytorch": _torch(),
    }


def _without_kernel() -> str:
    if os.environ.get(VARIABLE) == "off":
        return f"numpy, because {VARIABLE} is off"
    return "numpy, because no kernel was compiled for this machine"


def _torch() -> str:
    try:
        return version("torch") if has_torch() else "not installed; needed to train and on GPUs (the extra train)"
    except PackageNotFoundError:
        return "installed"
