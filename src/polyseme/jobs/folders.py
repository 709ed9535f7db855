"""A folder appears under its final name only when it is complete.

It is filled beside (``name.partial``), flushed to the disk, then renamed. What a killed process left there is removed
by the next one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyseme.errors import JobError
from polyseme.jobs.atomic import partial_path, raise_if_disk_full, sync
from polyseme.jobs.locks import exclusive


@contextmanager
def folder_when_complete(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """An empty folder whose content becomes ``final`` when the block ends without an error.

    A folder that is there already is refused unless it is empty, or, with ``replace``, gives way at the very end.
    """
    if not replace and final.exists() and not _is_empty_folder(final):
        raise JobError(f"{final} exists already; choose another name, or replace it with --overwrite")
    beside = partial_path(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(beside.with_name(beside.name + ".lock"), f"another process is writing {final}"):
            try:
                shutil.rmtree(beside, ignore_errors=True)
                beside.mkdir()
                yield beside
                _put_folder_in_place(beside, final, replace)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise_if_disk_full(error, final)
        raise JobError(f"{final} cannot be written: {(error.strerror or str(error)).lower()}") from error


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _put_folder_in_place(beside: Path, final: Path, replace: bool) -> None:
    for file in beside.iterdir():
        sync(file)
    if os.name == "posix":
        sync(beside)
    old = beside.with_name(beside.name + ".old")  # no name that a user might choose
    if final.exists():
        if replace:
            shutil.rmtree(old, ignore_errors=True)  # left by a process that was killed below
            final.rename(old)
        else:
            final.rmdir()  # empty, or this fails; Windows renames over no folder
    beside.rename(final)
    if os.name == "posix":
        sync(final.parent)
    shutil.rmtree(old, ignore_errors=True)
