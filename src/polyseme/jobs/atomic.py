"""A file appears under its final name only when it is complete.

It is written beside (``name.partial``), flushed to the disk, then renamed. A crash leaves the old file, or none.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from polyseme.errors import JobError

_SAYS_FULL = re.compile(r"no space left on device|file too large|disk quota exceeded", re.IGNORECASE)


@contextmanager
def replace_when_complete(path: Path) -> Iterator[IO[bytes]]:
    """An open binary file whose content becomes ``path`` when the block ends without an error."""
    beside = partial_path(path)
    try:
        with beside.open("wb") as file:
            yield file
        put_in_place(beside, path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise_if_disk_full(error, path)
        raise


def partial_path(path: Path) -> Path:
    """Where ``path`` is written until it is complete."""
    return path.with_name(path.name + ".partial")


def put_in_place(beside: Path, path: Path) -> None:
    """Flush ``beside`` to the disk and give it the name ``path``."""
    sync(beside)
    beside.replace(path)
    if os.name == "posix":  # a rename lasts when its folder is flushed; Windows has no such call
        sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or on POSIX a folder, to the disk."""
    flags = os.O_RDONLY if os.name == "posix" else os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_existing(path: Path) -> None:
    """What is there is kept, unless the user says otherwise: the same for every verb that writes."""
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists() or path.is_symlink():
        raise JobError(f"{path} exists already; choose another name, or replace it with --overwrite")


def raise_if_disk_full(error: BaseException, path: Path, remedy: str = "make room and run the command again") -> None:
    """Turn the system's "no space left" (also a file-size limit or quota) into a sentence."""
    full = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
    if isinstance(error, OSError) and error.errno is not None and error.errno in full:
        raise JobError(f"no space left for {path} ({os.strerror(error.errno).lower()}); {remedy}") from None
    if found := _SAYS_FULL.search(str(error)):  # safetensors has errors of its own
        raise JobError(f"no space left for {path} ({found[0].lower()}); {remedy}") from None
