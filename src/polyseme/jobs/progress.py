"""Long work: it processes its items in windows, reports its progress, and can be stopped between two steps.

    elmo.encode(texts, progress=print)          one call
    with reporting_progress(show): …            everything in the block, as the command line does for its bars

The library reports events, and the caller may show them; nothing is drawn here. Nested work is not reported: a job that
encodes reports only the job.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """An event: how much of the work is done."""

    title: str  #: what is being done: "encoding"
    done: int  #: of ``total``, in the unit of the work: tokens, characters, steps
    total: int | None  #: None if unknown
    tokens: int = 0  #: tokens read in this run, if counted
    seconds: float = 0.0  #: since the work began, in this run
    note: str = ""  #: additional information: "loss 3.214"
    ended: bool = False  #: this is the last event of the work


Report = Callable[[Progress], None]

_listener: ContextVar[Report | None] = ContextVar("polyseme_progress", default=None)


def reporting_progress(report: Report | None) -> AbstractContextManager[None]:
    """Report work that this thread begins within the block to ``report``, or to nobody if it is None."""
    return held(_listener, report)


@contextmanager
def held(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set the variable to this value within the block, for this thread."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def current_listener() -> Report:
    """The listener of the current block."""
    return _listener.get() or _nobody


class Work:
    """Work in progress; several threads may advance it."""

    def __init__(self, title: str, total: int | None, report: Report) -> None:
        self.title, self.total, self._report = title, total, report
        self.done = self.tokens = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, count: int, *, tokens: int = 0, note: str = "") -> None:
        """``count`` more is done."""
        with self._lock:
            self.done += count
            self.tokens += tokens
            self._tell(note)

    def reach(self, done: int, *, tokens: int = 0, note: str = "") -> None:
        """``done`` is done in all."""
        with self._lock:
            self.done, self.tokens = done, tokens
            self._tell(note)

    def end(self) -> None:
        with self._lock:
            self._tell("", ended=True)

    def _tell(self, note: str, ended: bool = False) -> None:
        seconds = time.monotonic() - self._began
        self._report(Progress(self.title, self.done, self.total, self.tokens, seconds, note, ended))


@contextmanager
def working(title: str, total: int | None = None, report: Report | None = None) -> Iterator[Work]:
    """Work that is reported to ``report``, or to the listener of the enclosing block.

    Not for use in generators: the listener they set would also apply to their caller between two items.
    """
    work = Work(title, total, report or current_listener())
    with reporting_progress(None):
        yield work
    work.end()


def _nobody(progress: Progress) -> None:
    pass


def windows(items: Iterable[T], size: Callable[[T], int], limit: int, *, most: int = sys.maxsize) -> Iterator[list[T]]:
    """Groups of items, each closed once its sizes add up to ``limit``, or it has ``most`` items; none is empty."""
    window, total = list[T](), 0
    for item in items:
        window.append(item)
        total += size(item)
        if total >= limit or len(window) >= most:
            yield window
            window, total = [], 0
    if window:
        yield window


class Stopped(KeyboardInterrupt):
    """The user asked to stop, and everything in memory is consistent."""


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Within the block, Ctrl-C only makes the yielded function return True; a second Ctrl-C interrupts at once."""
    wanted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal wanted
        if wanted:
            raise KeyboardInterrupt
        wanted = True

    def stop_is_wanted() -> bool:
        return wanted

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set signal handlers
        yield stop_is_wanted
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop_is_wanted
    finally:
        signal.signal(signal.SIGINT, before)
