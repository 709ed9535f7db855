"""The compiled kernel, if there is one: found beside this file, the best for this processor, loaded by ctypes.

``POLYSEME_KERNEL=off`` turns it off, and the name of an instruction set ("avx2", "portable") asks for that one.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from polyseme.errors import ConfigError
from polyseme.kernel.compile import LEVELS, SUFFIX

HERE = Path(__file__).parent
VARIABLE = "POLYSEME_KERNEL"


@dataclass(frozen=True, slots=True)
class Library:
    """A loaded library, and how it wants matrices packed (product.h)."""

    functions: ctypes.CDLL
    instruction_set: str
    panel: int  #: columns of a panel
    group8: int  #: rows of a panel that stand together, of 8-bit weights times 8-bit rows
    group16: int  #: the same times 16-bit rows
    row_offset: int  #: what is added to the values of 8-bit rows
    halves: bool  #: whether it knows float16

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., int]:
        """A function of the library, with the types of its result and arguments."""
        found = getattr(self.functions, name)
        found.restype, found.argtypes = result, arguments
        return cast(Callable[..., int], found)


@cache
def library() -> Library | None:
    """The kernel for this process; None: there is none, and numpy does the work."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "off":
        return None
    if wanted and wanted not in LEVELS:
        raise ConfigError(f"{VARIABLE} is {wanted!r}, but should be off or one of: {', '.join(LEVELS)}")
    found = available()
    if wanted and wanted not in found:
        raise ConfigError(f"{VARIABLE} is {wanted!r}, but only these are available: {', '.join(found) or 'no kernel'}")
    return load(wanted or found[-1]) if found else None


def available() -> list[str]:
    """The instruction sets that were built and that this processor has, best last."""
    base = HERE / f"{LEVELS[0]}{SUFFIX}"
    if not base.exists():
        return []
    try:
        best = ctypes.CDLL(str(base)).polyseme_best_level()
    except OSError:  # built for another system
        return []
    return [name for name in LEVELS[: best + 1] if (HERE / f"{name}{SUFFIX}").exists()]


@cache
def load(instruction_set: str) -> Library:
    """The library for an instruction set that is available."""
    functions = ctypes.CDLL(str(HERE / f"{instruction_set}{SUFFIX}"))
    layout = (ctypes.c_int64 * 5)()
    functions.polyseme_layout(layout)
    panel, group8, group16, row_offset, halves = layout
    return Library(functions, instruction_set, panel, group8, group16, row_offset, bool(halves))
