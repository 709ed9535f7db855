"""``map`` over several processes, with results in the order of the items.

Each worker has its own pipe and holds one item at a time. So a worker that dies is noticed at once (its pipe closes),
workers of a killed parent end too (for the same reason), and only one item per worker is in memory. Workers are
spawned, which works the same on Linux, macOS and Windows.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from polyseme.errors import JobError

Item = TypeVar("Item")
Result = TypeVar("Result")
_SPAWN = get_context("spawn")
_END = object()


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Generator[Result, None, None]:
    """``map(function, items)`` with ``workers`` processes; with one worker, or one item, in this process.

    ``function``, items and results are pickled. Close the iterator (`contextlib.closing`) to end the workers early.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    queue = chain(first, rest)
    if workers == 1 or len(first) < 2:
        yield from map(function, queue)
        return
    team = deque[_Worker]()
    try:
        for item in islice(queue, workers):
            team.append(_start(function))
            team[-1].send(item)
        yield from _take_turns(deque(team), queue)
    finally:
        for worker in team:
            worker.stop()


def _take_turns(team: deque[_Worker], queue: Iterator[Any]) -> Iterator[Any]:
    while team:
        worker = team.popleft()
        result = worker.receive()
        if (item := next(queue, _END)) is not _END:
            worker.send(item)
            team.append(worker)
        yield result


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    pipe: Connection

    def send(self, item: Any) -> None:
        try:
            self.pipe.send(item)
        except OSError:
            raise self._died() from None

    def receive(self) -> Any:
        try:
            result, error = self.pipe.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()

    def _died(self) -> JobError:
        self.process.join(timeout=5)
        return JobError(
            f"a worker process ended with exit code {self.process.exitcode}; it may have run out of memory (try one "
            "worker), or the program that started it lacks its `if __name__ == '__main__':`"
        )


def _start(function: Callable[[Any], Any]) -> _Worker:
    ends: tuple[Any, Any] = _SPAWN.Pipe()  # of another class on Windows
    ours, theirs = ends
    process = _SPAWN.Process(target=_work, args=(function, theirs), daemon=True)
    with _interrupts_held_back():
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(function: Callable[[Any], Any], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent ends its workers
    with suppress(EOFError, OSError):  # the parent is gone, perhaps in the middle of an item
        while True:
            pipe.send(_answer(function, pipe.recv()))


def _answer(function: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
    try:
        return function(item), None
    except Exception as error:
        return None, error


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C in a child while it starts, so that it does not print a traceback; the parent gets the signal
    afterwards.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # starting it unblocks the signals again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
