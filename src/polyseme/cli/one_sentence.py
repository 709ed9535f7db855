"""One sentence for whatever a library raised: what happened, and what to do.

Errors of our own are sentences already. What is left are a full disk, too little memory, files of others that are not
what their names say, and mistakes in polyseme itself.
"""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

#: With this in the environment, an error that is not our own is shown with its traceback.
TRACEBACK = "POLYSEME_TRACEBACK"

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_SAYS_FULL = re.compile(r"no space left|file too large|disk quota exceeded|os error (?:28|27|122)\b", re.IGNORECASE)
_SAYS_MEMORY = re.compile(
    r"can't allocate|cannot allocate memory|unable to allocate|not enough memory|out of memory|bad_alloc"
    r"|malloc of size|failed to allocate|can't start new thread|could not create a primitive",
    re.IGNORECASE,
)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """A warning of our own is one line as an error is, without the place in the code that gave it."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category.__module__.startswith("polyseme"):
                typer.echo(f"polyseme: warning: {message}", err=True)
            else:
                before(message, category, *place, **more)

        warnings.showwarning = show
        yield


def sentence_of(error: Exception) -> str:
    """For a person who cannot read a traceback."""
    said = " ".join(str(error).split())
    if (isinstance(error, OSError) and error.errno in _FULL) or _SAYS_FULL.search(said):
        return f"no space left on the disk{_named(error)}; make room and run the command again"
    if isinstance(error, MemoryError) or _SAYS_MEMORY.search(said):
        return (
            f"there is not enough memory ({said[:120] or 'the system gave none'}); close other programs, or give less"
        )
    if isinstance(error, OSError) and error.filename is not None:
        name = str(error.filename).removesuffix(".partial")  # as the user gave it
        return f"{name} cannot be used: {(error.strerror or str(error)).lower()}"
    if isinstance(error, OSError):
        return f"the system refused: {(error.strerror or said or type(error).__name__).lower()}"
    if "integer string conversion" in said:
        return "a number has more digits than any number that polyseme needs; correct it"
    if type(error).__name__ == "BadZipFile":
        return f"a file is no zip archive, or a damaged one ({said[:120]}); check that its name is that of its content"
    if isinstance(error, RecursionError):
        return "a file is nested too deeply to be read"
    return (
        f"this should not have happened ({type(error).__name__}: {said[:200]}); please report it, with what "
        f"{TRACEBACK}=1 in the environment shows"
    )


def _named(error: Exception) -> str:
    filename = getattr(error, "filename", None)
    return f" for {os.fspath(filename)}".removesuffix(".partial") if isinstance(filename, str | os.PathLike) else ""
