"""The tasks by name, those of other packages too; a task's module is imported when the task is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyseme.errors import ConfigError
from polyseme.plugins import Group, added, broken, load_added
from polyseme.tasks.definition import Definition

_GROUP: Group = "polyseme.tasks"

#: Each module has its ``Definition`` under the name TASK.
MODULES = {
    "ner": "polyseme.tasks.ner.task",
    "pos": "polyseme.tasks.pos.task",
    "sst": "polyseme.tasks.sst.task",
    "snli": "polyseme.tasks.snli.task",
    "srl": "polyseme.tasks.srl.task",
    "squad": "polyseme.tasks.squad.task",
    "coref": "polyseme.tasks.coref.task",
    "text": "polyseme.tasks.text_classes.task",
    "pairs": "polyseme.tasks.text_pairs.task",
}


def task_names() -> list[str]:
    """Our own, then those that installed packages add."""
    return [*MODULES, *sorted(added(_GROUP).keys() - MODULES.keys())]


def find_task(name: str) -> Definition[Any, Any]:
    """A task's definition."""
    if name in MODULES:
        task: Definition[Any, Any] = import_module(MODULES[name]).TASK
        return task
    if name in added(_GROUP):
        return _added_task(name)
    tables = "; word senses are in polyseme reproduce --only table5" if name == "wsd" else ""
    raise ConfigError(f"there is no task {name!r} to train; there are: {', '.join(task_names())}{tables}")


def _added_task(name: str) -> Definition[Any, Any]:
    task = load_added(_GROUP, name)
    if not isinstance(task, Definition):
        raise broken(_GROUP, name, f"it is of type {type(task).__name__}, not a Definition")
    if task.name != name:
        raise broken(_GROUP, name, f"the task calls itself {task.name!r}")
    return task
