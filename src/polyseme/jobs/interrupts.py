"""Ctrl-C between two steps: a step is finished and saved before the run stops, so that nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


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
