"""One kind of model on disk, and the kinds that other packages add.

Ours come first: a package cannot take over what polyseme reads by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import PluginError
from polyseme.formats.model import StoredModel
from polyseme.plugins import Group, added, broken, load_added

_GROUP: Group = "polyseme.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """``test`` looks at names and first bytes only. ``load`` raises a FormatError without the path."""

    title: str  #: "a native folder (config.json, model.safetensors)"
    test: Callable[[Path], bool]
    load: Callable[[Path], StoredModel]


def added_formats() -> tuple[list[Format], list[PluginError]]:
    """What installed packages add, and what is wrong with those that cannot be used."""
    found, wrong = list[Format](), list[PluginError]()
    for name in sorted(added(_GROUP)):
        try:
            found.append(_load(name))
        except PluginError as error:
            wrong.append(error)
    return found, wrong


def _load(name: str) -> Format:
    known = load_added(_GROUP, name)
    if not isinstance(known, Format):
        raise broken(_GROUP, name, f"it is of type {type(known).__name__}, not a Format")
    return known
