"""Two threads of our own instead of torch's inside every operation.

With several intra-op threads each small operation ends in a barrier, where it waits for whatever else the machine is
doing. So an operation gets one thread, and two independent pieces of work run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch


@contextmanager
def one_intraop_thread() -> Iterator[int]:
    """One thread inside an operation; afterwards the number that the caller had, which is handed out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield before
    finally:
        torch.set_num_threads(before)


class Pair:
    """The calling thread and one worker."""

    def __init__(self) -> None:
        self._pool = _one_worker()
        self._process = os.getpid()

    def run(self, here: Callable[[], None], there: Callable[[], None]) -> None:
        """Both, at once; returns when both are done, and raises what either of them raised."""
        if self._process != os.getpid():  # a fork has no threads but the one that called it
            self._pool, self._process = _one_worker(), os.getpid()
        other = self._pool.submit(_alone, there)
        try:
            here()
        finally:
            error = other.exception()
        if error is not None:
            raise error


def _alone(job: Callable[[], None]) -> None:
    torch.set_num_threads(1)  # torch keeps this number for each thread
    with torch.inference_mode():
        job()


def _one_worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="polyseme")
