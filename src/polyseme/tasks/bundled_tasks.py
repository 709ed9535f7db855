"""The bundled task models, by name: models/tasks/LANGUAGE/TASK, each a run folder beside the biLM that it needs.

A task model holds its own weights, labels and characters, and its biLM's name and fingerprint: a few megabytes.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from polyseme.errors import FormatError

_NAME = re.compile(r"[a-z]{2,3}/[a-z0-9_-]+")


def bundled_tasks_folder() -> Path:
    return Path(str(resources.files("polyseme"))) / "models" / "tasks"


def bundled_tasks() -> list[str]:
    """The names of the bundled task models: "en/ner", …"""
    folder = bundled_tasks_folder()
    return sorted(path.parent.relative_to(folder).as_posix() for path in folder.glob("*/*/run.json"))


def find_run(name: str | Path) -> Path:
    """The folder of a run; for a name such as "en/ner", that of the bundled task model."""
    path = Path(name)
    if path.exists() or not isinstance(name, str) or not _NAME.fullmatch(name):
        return path
    if name not in (there := bundled_tasks()):
        from polyseme.tasks.definition import task_names

        task = name.partition("/")[2]
        remedy = f"train one with `polyseme task train {task} --data DIR --out RUN`, then use RUN instead"
        if task not in task_names():
            remedy = f"{task} is no task; the tasks are {', '.join(task_names())}"
        raise FormatError(f"no task model {name} is bundled ({', '.join(there) or 'there are none yet'}); {remedy}")
    return bundled_tasks_folder() / name
