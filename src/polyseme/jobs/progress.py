"""A long piece of work: it goes through its items window by window, reports how far it is, and stops between two steps.

    elmo.encode(texts, progress=print)          one call
    with reporting_progress(show): …            everything in the block; so the command line draws its bars

The library reports events, and whoever asked for the work may show them; nothing is drawn here. Work within work is not
reported: a job that encodes tells of the job.
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
    """An event: so much of the work is done."""

    title: str  #: what is being done: "encoding"
    done: int  #: of ``total``, in whatever the work is measured by: tokens, characters, steps
    total: int | None  #: None where nobody knows
    tokens: int = 0  #: read in this run, where they are counted
    seconds: float = 0.0  #: since the work began, in this run
    note: str = ""  #: what else is worth saying: "loss 3.214"
    ended: bool = False  #: nothing more will come of this work


Report = Callable[[Progress], None]

_listener: ContextVar[Report | None] = ContextVar("polyseme_progress", default=None)


def reporting_progress(report: Report | None) -> AbstractContextManager[None]:
    """Work that this thread begins within the block is told to ``report``; to nobody if it is None."""
    return held(_listener, report)


@contextmanager
def held(variable: ContextVar[T], value: T) -> Iterator[None]:
    """The variable has this value while the block lasts, for this thread."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def current_listener() -> Report:
    """Whoever listens here."""
    return _listener.get() or _nobody


class Work:
    """A piece of work while it is being done; several threads may advance it."""

    def __init__(self, title: str, total: int | None, report: Report) -> None:
        self.title, self.total, self._report = title, total, report
        self.done = self.tokens = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, count: int, *, tokens: int = 0, note: str = "") -> None:
        """So much more is done."""
        with self._lock:
            self.done += count
            self.tokens += tokens
            self._tell(note)

    def reach(self, done: int, *, tokens: int = 0, note: str = "") -> None:
        """So much is done in all."""
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
    """Work that is told to ``report``, or to the listener of the block that this one is in.

    Not for generators: what they set would hold for their caller between two items.
    """
    work = Work(title, total, report or current_listener())
    with reporting_progress(None):
        yield work
    work.end()


def _nobody(progress: Progress) -> None:
    pass


def windows(items: Iterable[T], size: Callable[[T], int], limit: int, *, most: int = sys.maxsize) -> Iterator[list[T]]:
    """Groups that end when their sizes add up to ``limit`` or more, or ``most`` items are in them; none is empty."""
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
    """The user asked to stop, and everything in memory is whole."""


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Within the block Ctrl-C makes the given function true, and nothing else; a second one interrupts at once."""
    wanted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal wanted
        if wanted:
            raise KeyboardInterrupt
        wanted = True

    def stop_is_wanted() -> bool:
        return wanted

    if threading.current_thread() is not threading.main_thread():  # only that one may set a signal's handler
        yield stop_is_wanted
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop_is_wanted
    finally:
        signal.signal(signal.SIGINT, before)
