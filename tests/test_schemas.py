"""The JSON schemas in docs/schemas are those of the classes that check recipes and configurations."""

from __future__ import annotations

import json

import schemas as written


def test_the_schemas_are_those_of_the_classes() -> None:
    """After a change of the settings: python benchmarks/schemas.py"""
    found = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in written.FOLDER.glob("*.json")}
    assert found == json.loads(json.dumps(written.schemas()))


def test_a_schema_says_what_is_allowed() -> None:
    recipe = written.schemas()["recipe.json"]["$defs"]
    assert recipe["OptimizerChoice"]["properties"]["rate"]["exclusiveMinimum"] == 0
    assert recipe["OptimizerChoice"]["additionalProperties"] is False
    assert recipe["SoftmaxChoice"]["properties"]["kind"]["enum"] == ["adaptive", "full", "sampled"]
