"""Public names that are imported on first use, so that importing a package costs nothing.

__all__, __getattr__, __dir__ = lazy_names(__name__, {"Elmo": "polyseme.elmo"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], *others: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """What a package needs to hand out names whose homes are other modules; ``others`` are public names of its own."""
    public = sorted([*homes, *others])

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return public, get, lambda: public
