"""Public names that are imported on first use, so that importing a package costs nothing.

__all__, __getattr__, __dir__ = lazy_names(__name__, {"polyseme.elmo": ("Elmo",)})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], *others: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """What a package needs to offer names from other modules (``homes``); ``others`` are public names of its own."""
    home_of = {name: home for home, names in homes.items() for name in names}
    public = sorted([*home_of, *others])

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return public, get, lambda: public
