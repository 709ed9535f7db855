"""What a training run is to do, and the recipe that it follows: a new one, or that of a run which goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyseme.errors import JobError
from polyseme.pretrain.recipe import Recipe, change_recipe, load_recipe, recipe_from_dict

RECIPE = "recipe.json"  #: in the folder of a run


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to train, on what, where."""

    corpus: Path
    out: Path
    recipe: Recipe
    valid: Path | None = None
    init: str | None = None  #: a model whose weights are the first ones
    init_options: str | None = None  #: of HDF5 weights that have none beside them
    seed: int = 0
    device: str = "cpu"
    threads: int | None = None  #: of a CPU: 1, or 2, one for each direction; as many as there are unless given
    card: dict[str, Any] = field(default_factory=dict)


def recipe_of_run(out: Path) -> Recipe:
    """The recipe that a run follows now."""
    try:
        return recipe_from_dict(json.loads((out / RECIPE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise JobError(f"{out} holds no run to resume: it has no readable {RECIPE}") from None


def chosen_recipe(out: Path, name: str | None, changes: Sequence[str], *, resume: bool, default: str) -> Recipe:
    """The recipe of a run with ``key=value`` changes, by its name; of one that goes on, the one that it has."""
    return resumed_recipe(out, name, changes) if resume else load_recipe(name or default, changes)


def resumed_recipe(out: Path, name: str | None, changes: Sequence[str]) -> Recipe:
    """The recipe of a run with ``key=value`` changes; to name a recipe is not needed, and no other one is taken."""
    recipe = recipe_of_run(out)
    if name is not None and (other := load_recipe(name).name) != recipe.name:
        raise JobError(
            f"the run in {out} has the recipe {recipe.name}, not {other}; "
            "leave out --recipe, and change single values by --set"
        )
    return change_recipe(recipe, changes)
