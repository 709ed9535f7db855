"""JSON schemas of the configuration files, for editors: docs/schemas/*.json, from the classes that check them.

python benchmarks/schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polyseme.pretrain.recipe import Recipe
from polyseme.settings import json_schema
from polyseme.tasks.definition import MODULES, find_task

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"


def schemas() -> dict[str, dict[str, Any]]:
    """File name → schema: recipes for ``--recipe``, and the ``--config`` of each task."""
    return {"recipe.json": json_schema(Recipe), **{f"task-{name}.json": task_schema(name) for name in MODULES}}


def task_schema(name: str) -> dict[str, Any]:
    preset = find_task(name).presets["paper"]
    parts = {
        "network": json_schema(type(preset.network)),
        "training": json_schema(type(preset.training)),
        "inputs": json_schema(type(preset.inputs)),
    }
    return {
        "title": f"polyseme task train {name} --config",
        "type": "object",
        "properties": {part: {"$ref": schema["$ref"]} for part, schema in parts.items()},
        "additionalProperties": False,
        "$defs": {key: value for schema in parts.values() for key, value in schema["$defs"].items()},
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (FOLDER / name).write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
