"""What other packages add to polyseme: tasks, model formats and tokenisers, declared as entry points.

    [project.entry-points."polyseme.tasks"]
    topics = "polyseme_topics:TASK"

A package is imported when a name that it adds is first used. docs/your-own-task.md has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from polyseme.errors import PluginError

Group = Literal["polyseme.tasks", "polyseme.formats", "polyseme.tokenizers"]

_WHAT = {"polyseme.tasks": "task", "polyseme.formats": "format", "polyseme.tokenizers": "tokenizer"}


@cache
def added(group: Group) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The names that installed packages add to a group, without importing the packages."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def load_added(group: Group, name: str) -> Any:
    """What a package adds under a name; a PluginError says in one sentence which package fails, and why."""
    entries = added(group)[name]
    if len(entries) > 1:
        packages = " and ".join(sorted(map(_package, entries)))
        raise PluginError(f"the {_WHAT[group]} {name!r} comes from several packages, {packages}; uninstall all but one")
    (entry,) = entries
    try:
        return entry.load()
    except Exception as error:  # importing a package runs its code, which may fail in any way
        raise broken(group, name, f"{type(error).__name__}: {error}".partition("\n")[0]) from error


def broken(group: Group, name: str, reason: str) -> PluginError:
    """The error to raise if what was loaded is not what the group is for."""
    package = _package(added(group)[name][0])
    return PluginError(
        f"the {_WHAT[group]} {name!r} of the package {package} cannot be used ({reason}); update or uninstall it"
    )


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
