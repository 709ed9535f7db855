"""The tasks by name; each stands in a module of its own, which is imported when the task is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyseme.errors import ConfigError
from polyseme.tasks.definition import Definition

#: Each module has its ``Definition`` under the name TASK.
MODULES = {
    "ner": "polyseme.tasks.ner",
    "pos": "polyseme.tasks.pos",
    "sst": "polyseme.tasks.sst",
    "snli": "polyseme.tasks.snli",
    "srl": "polyseme.tasks.srl",
    "squad": "polyseme.tasks.squad",
    "coref": "polyseme.tasks.coref",
}


def find_task(name: str) -> Definition[Any, Any]:
    """A task's definition."""
    if name not in MODULES:
        tables = "; word senses are in polyseme reproduce --only table5" if name == "wsd" else ""
        raise ConfigError(f"there is no task {name!r} to train; there are: {', '.join(MODULES)}{tables}")
    task: Definition[Any, Any] = import_module(MODULES[name]).TASK
    return task
