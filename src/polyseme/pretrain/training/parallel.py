"""One thread per direction: the two halves of a step run in parallel, with one intra-op thread each.

Two Python threads with single-threaded operations are faster than one Python thread whose small operations each end in
a barrier between cores, and other busy programs slow them down less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch

from polyseme.engine.pool import usable_cores

Result = TypeVar("Result")


class Runner(Protocol):
    """Runs functions, perhaps in parallel, and returns their results in order."""

    def __call__(self, tasks: Sequence[Callable[[], Result]], /) -> list[Result]: ...


def one_after_the_other(tasks: Sequence[Callable[[], Result]], /) -> list[Result]:
    """The runner for one core, or for a device that queues its own work."""
    return [task() for task in tasks]


@contextmanager
def side_by_side() -> Iterator[Runner]:
    """A runner for two cores: the first task runs on the calling thread, the others on another one."""
    with _one_thread_each(), ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def run(tasks: Sequence[Callable[[], Result]], /) -> list[Result]:
            waiting = [pool.submit(task) for task in tasks[1:]]
            return [tasks[0](), *(task.result() for task in waiting)]

        yield run


@contextmanager
def on_cores(count: int) -> Iterator[Runner]:
    """The runner for ``count`` cores, of which at most two are used; 1 leaves the others to other programs."""
    if count > 1:
        with side_by_side() as run:
            yield run
    else:
        with _one_thread_each():
            yield one_after_the_other


def parallel_threads() -> int:
    """Threads that training uses on a CPU: two, one per direction, if there are two cores."""
    return min(2, usable_cores())


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Within the block, operations called from this thread use one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def after(first: Callable[[], None], runner: Runner) -> Runner:
    """The same runner, which calls ``first`` each time before it runs tasks; this may stop the run."""

    def run(tasks: Sequence[Callable[[], Result]], /) -> list[Result]:
        first()
        return runner(tasks)

    return run
