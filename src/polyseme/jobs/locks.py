"""One process at a time: a lock on a file, which the system releases however its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from polyseme.errors import JobError

POLL_SECONDS = 0.2


@contextmanager
def exclusive(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file ``path`` for the block, then remove it; JobError(``busy``) if another process holds it."""
    file = _open_locked(path)
    if file is None:
        raise JobError(busy)
    yield from _held(path, file)


@contextmanager
def in_turn(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """The same, after waiting for as long as another process holds it; then ``on_wait`` is called, once."""
    while (file := _open_locked(path)) is None:
        if on_wait is not None:
            on_wait()
            on_wait = None
        time.sleep(POLL_SECONDS)
    yield from _held(path, file)


def _held(path: Path, file: IO[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        if os.name == "posix":
            path.unlink(missing_ok=True)  # while it is held, so that nobody's but our own is removed
        file.close()
        if os.name != "posix":  # Windows removes no open file
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _open_locked(path: Path) -> IO[bytes] | None:
    """The lock file, locked; None if another process holds it."""
    while True:
        file = path.open("ab")
        if not _try_lock(file):
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last holder removed it between our open and our lock


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # some network file systems have no locks; better without one than not at all
        return True
