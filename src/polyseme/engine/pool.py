"""Jobs on several threads, how many there should be, and one thread in each product of numpy's BLAS.

A job is a generator that pauses after every piece of work: there the thread looks whether it should stop. The work
itself happens in the kernel or in a BLAS, where Python's lock is not held.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import ConfigError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Job = Iterator[None]
Floats = npt.NDArray[np.float32]

_lock = threading.Lock()
_running = 0
_limits: Any = None


def usable_cores() -> int:
    """The cores that this process may use: what OMP_NUM_THREADS says, else all it is allowed to run on."""
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if said.isdecimal() and int(said) > 0:
        return int(said)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _container_limit(Path("/sys/fs/cgroup"))))


def check_threads(threads: int | None) -> int:
    """A number of threads, or None for all usable cores."""
    if threads is None:
        return usable_cores()
    if not isinstance(threads, int) or threads < 1:
        raise ConfigError(f"threads is {threads!r}, but should be a whole number of at least 1")
    return threads


def _container_limit(cgroup: Path) -> int:
    """The cores that a container's share of processor time amounts to, rounded up."""
    many = 1 << 20
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu/cpu.cfs_period_us").read_text()
        except OSError:
            return many
    return -(-int(quota) // int(period)) if quota.strip().isdecimal() and int(period) > 0 else many


class Pool:
    """The calling thread and, where there is enough to do, ``threads`` − 1 others."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._others: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def run(self, jobs: Sequence[Job], most: int | None = None) -> None:
        """All jobs, on at most ``most`` threads; returns when they are done.

        The first error of any of them stops the others and is raised.
        """
        work = _Work(jobs)
        threads = min(self.threads, len(jobs), most or self.threads)
        if threads <= 1:
            work.drain()
            return
        helpers = [self._executor().submit(work.drain) for _ in range(threads - 1)]
        try:
            work.drain()
            for helper in helpers:
                if not helper.cancel():  # one that has not begun has nothing left to do
                    helper.result()
        finally:
            work.stopped = True
            wait(helpers)  # nobody writes into the arrays of a call that has ended

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._others is None or self._process != os.getpid():  # a fork has no threads but the one that called it
                self._others = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="polyseme")
                self._process = os.getpid()
            return self._others


class _Work:
    """Jobs that several threads take one by one."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.waiting = iter(jobs)
        self.stopped = False

    def drain(self) -> None:
        try:
            for job in self.waiting:
                for _ in job:
                    if self.stopped:
                        return
                if self.stopped:
                    return
        except BaseException:
            self.stopped = True
            raise


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
