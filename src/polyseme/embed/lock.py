"""One process at a time works in a folder; the system frees the lock when the process ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from polyseme.errors import JobError


@contextmanager
def only_process_in(folder: Path) -> Iterator[None]:
    """Hold ``folder/lock`` while the block runs; JobError if another process holds it."""
    with (folder / "lock").open("a+b") as file:
        try:
            _lock(file)
        except OSError:
            raise JobError(f"{folder} is in use by another process; wait for it, or stop it") from None
        yield


def _lock(file: IO[bytes]) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        getattr(msvcrt, "locking")(file.fileno(), getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009  not known to mypy here
