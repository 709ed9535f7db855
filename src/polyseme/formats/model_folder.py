"""The folder of a model: it appears when it is complete, and takes the place of nothing but an earlier save."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from polyseme.errors import FormatError
from polyseme.jobs.atomic import folder_when_complete


@contextmanager
def model_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A folder to fill that becomes ``folder`` when the block ends without an error.

    A folder that is already there is replaced if all it holds is among ``files``, and refused otherwise.
    """
    check_replaceable(folder, files)
    with folder_when_complete(folder, replace=True) as beside:
        yield beside


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
