"""Products on numpy, and one thread in each of them: the engine has threads of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Floats = npt.NDArray[np.float32]

_lock = threading.Lock()
_running = 0
_limits: Any = None


def row_products(x: Floats, weight: Floats) -> Floats:
    """[R, K] @ [K, N] → [R, N], row by row.

    A BLAS computes all rows at once twice as fast; but then the bits of a row can depend on its place (docs/log.md).
    """
    y: Floats = np.matmul(x[:, None], weight)[:, 0]
    return y


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """With several, each small product ends in a barrier, where it waits for whatever else the machine is doing.

    Afterwards the BLAS has the number that it had; several calls at once count as one.
    """
    global _running, _limits
    with _lock:
        _running += 1
        if _running == 1:
            _limits = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                _limits.restore_original_limits()


def blas_names() -> list[str]:
    """Which libraries numpy's products run in, with their versions."""
    return sorted(
        {f"{one['internal_api']} {one['version']}" for one in _controller().info() if one["user_api"] == "blas"}
    )


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
