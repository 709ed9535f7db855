"""Atomic files, folders and locks: what a job writes is complete or absent, and only one process writes it at a time.

A file or a folder is written as ``name.partial``, flushed to disk, then renamed. A crash leaves the old one, or none;
the next process removes what a killed one has left. A lock is a file that the system releases however its holder dies.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from polyseme.errors import JobError, reason_of

_SAYS_FULL = re.compile(r"no space left on device|file too large|disk quota exceeded", re.IGNORECASE)
POLL_SECONDS = 0.2


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
    """Flush ``beside`` to disk and rename it to ``path``."""
    sync(beside)
    beside.replace(path)
    if os.name == "posix":  # a rename is permanent once its folder is flushed; Windows has no such call
        sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or on POSIX a folder, to disk."""
    flags = os.O_RDONLY if os.name == "posix" else os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_existing(path: Path) -> None:
    """Refuse to overwrite an existing file or folder; every verb that writes calls this unless told to overwrite."""
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists() or path.is_symlink():
        raise JobError(f"{path} already exists; choose another name, or replace it with --overwrite")


def raise_if_disk_full(error: BaseException, path: Path, remedy: str = "make room and run the command again") -> None:
    """Turn the system's "no space left" (also a file-size limit or quota) into a sentence."""
    full = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
    if isinstance(error, OSError) and error.errno is not None and error.errno in full:
        raise JobError(f"no space left for {path} ({os.strerror(error.errno).lower()}); {remedy}") from None
    if found := _SAYS_FULL.search(str(error)):  # safetensors has its own errors
        raise JobError(f"no space left for {path} ({found[0].lower()}); {remedy}") from None


@contextmanager
def folder_when_complete(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """An empty folder whose content becomes ``final`` when the block ends without an error.

    An existing folder is refused unless it is empty; with ``replace``, it is replaced at the very end.
    """
    if not replace:
        refuse_existing(final)
    beside = partial_path(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(beside.with_name(beside.name + ".lock"), f"another process is writing {final}"):
            try:
                shutil.rmtree(beside, ignore_errors=True)
                beside.mkdir()
                yield beside
                put_folder_in_place(beside, final, replace=replace)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise_if_disk_full(error, final)
        raise JobError(f"{final} cannot be written: {reason_of(error)}") from error


def put_folder_in_place(beside: Path, final: Path, *, replace: bool) -> None:
    """Give a folder its final name, with its files safely on disk; with ``replace`` one of that name gives way."""
    for file in beside.iterdir():
        sync(file)
    if os.name == "posix":
        sync(beside)
    old = beside.with_name(beside.name + ".old")  # not a name that a user might choose
    if final.exists():
        if replace:
            shutil.rmtree(old, ignore_errors=True)  # left by a process that was killed below
            final.rename(old)
        else:
            final.rmdir()  # fails unless it is empty; Windows cannot rename over a folder
    beside.rename(final)
    if os.name == "posix":
        sync(final.parent)
    shutil.rmtree(old, ignore_errors=True)


def delete_folder(folder: Path) -> None:
    """Renamed first: a kill in the middle must not leave half a folder that looks like a whole one."""
    old = folder.with_name(f"{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
        shutil.rmtree(old)


@contextmanager
def exclusive(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file ``path`` for the block, then remove it; JobError(``busy``) if another process holds it."""
    file = _open_locked(path)
    if file is None:
        raise JobError(busy)
    yield from _held(path, file)


@contextmanager
def in_turn(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """The same, but wait while another process holds the lock; in that case call ``on_wait`` once."""
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
            path.unlink(missing_ok=True)  # while it is held, so that only our own is removed
        file.close()
        if os.name != "posix":  # Windows cannot remove an open file
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
            return True  # some network file systems have no locks; better to work without one than not at all
        return True


def home_folder() -> Path:
    """$POLYSEME_HOME, or polyseme in the user's cache folder."""
    if chosen := os.environ.get("POLYSEME_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "polyseme" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polyseme"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyseme"
