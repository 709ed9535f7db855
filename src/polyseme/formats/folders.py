"""A folder of files appears under its final name only when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from polyseme.errors import FormatError
from polyseme.text.atomic import raise_if_disk_full, sync


@contextmanager
def folder_when_complete(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A temporary folder beside ``folder`` that takes its name when the block ends without an error.

    A folder that is already there is replaced if all it holds is among ``files``, and refused otherwise.
    """
    check_replaceable(folder, files)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        yield beside
        for path in beside.iterdir():
            sync(path)
        beside.chmod(0o777 & ~_umask())
        _replace(folder, beside)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise_if_disk_full(error, folder)
        raise


def check_replaceable(folder: Path, files: Collection[str]) -> None:
    """Refuse to write over anything but a model that was saved before."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if not folder.is_dir() or folder.is_symlink():
        raise FormatError(f"{folder} is there already and is not a folder, so no model was saved; choose another name")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in files)
    if foreign:
        raise FormatError(
            f"{folder} holds {foreign[0]!r}, which is not part of a model, so nothing was replaced; "
            "choose a new or empty folder"
        )


def _replace(folder: Path, beside: Path) -> None:
    if folder.exists():
        old = beside.with_suffix(".old")
        folder.rename(old)
        beside.rename(folder)
        shutil.rmtree(old)
    else:
        beside.rename(folder)
    if os.name == "posix":
        sync(folder.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
