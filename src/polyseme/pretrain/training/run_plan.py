"""The plan of a training run and its recipe, which is new or that of a resumed run.

Rates, schedules, dropout and budgets may change when a run is resumed. What its weights, its order of reading and its
perplexities depend on may not: the corpus, the held-out text, the seed, and the parts of the recipe in ``settled``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyseme.errors import JobError
from polyseme.jobs.manifests import refuse_other
from polyseme.pretrain.corpus.corpus import META, Corpus
from polyseme.pretrain.recipe import Recipe, change_recipe, load_recipe, recipe_from_dict

RECIPE = "recipe.json"  #: in the folder of a run


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to train, on which corpus, and where to write it."""

    corpus: Path
    out: Path
    recipe: Recipe
    valid: Path | None = None
    init: str | None = None  #: a model to start from
    init_options: str | None = None  #: the options file of HDF5 weights, if it is not beside them
    seed: int = 0
    device: str = "cpu"
    threads: int | None = None  #: CPU threads: 1, or 2 (one for each direction); by default, as many as possible
    card: dict[str, Any] = field(default_factory=dict)


def recipe_of_run(out: Path) -> Recipe:
    """The current recipe of a run."""
    try:
        return recipe_from_dict(json.loads((out / RECIPE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise JobError(f"{out} holds no run to resume: it has no readable {RECIPE}") from None


def chosen_recipe(out: Path, name: str | None, changes: Sequence[str], *, resume: bool, default: str) -> Recipe:
    """The recipe for a run, by name, with ``key=value`` changes; a resumed run keeps its own."""
    return resumed_recipe(out, name, changes) if resume else load_recipe(name or default, changes)


def resumed_recipe(out: Path, name: str | None, changes: Sequence[str]) -> Recipe:
    """The recipe of a resumed run with ``key=value`` changes; naming it is optional, and another name is refused."""
    recipe = recipe_of_run(out)
    if name is not None and (other := load_recipe(name).name) != recipe.name:
        raise JobError(
            f"the run in {out} has the recipe {recipe.name}, not {other}; "
            "leave out --recipe, and change single values by --set"
        )
    return change_recipe(recipe, changes)


def describe_texts(
    corpus: Corpus, valid: Path | None, trained: int, held_out: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """What a checkpoint records about the text: ``trained`` sentences of a corpus, and the held-out text."""
    return {
        "corpus": hashlib.sha256((corpus.folder / META).read_bytes()).hexdigest(),
        "held_out": hashlib.sha256(json.dumps([trained, held_out]).encode()).hexdigest(),
        "valid": None if valid is None else valid.name,
    }


def settled(recipe: Recipe, seed: int) -> dict[str, Any]:
    """The settings that cannot change once a run has begun."""
    values = recipe.to_dict()
    found = {f"{part}.{name}": value for part in ("model", "text", "softmax") for name, value in values[part].items()}
    # Each optimiser has its own kind of state; validate_on may decide which text is held out.
    found |= {"optimizer.name": recipe.optimizer.name, "budget.validate_on": recipe.budget.validate_on}
    return found | {"seed": seed}


def check_same_run(out: Path, saved: Mapping[str, Any], recipe: Recipe, seed: int, texts: Mapping[str, Any]) -> None:
    """Refuse to resume from a checkpoint with a different recipe, seed or text than it was written with."""
    before = settled(recipe_from_dict(saved["recipe"]), saved["seed"])
    same_text = saved["held_out"] == texts["held_out"]
    refuse_other(
        {**{name: saved[name] for name in texts}, **before},
        {**texts, **settled(recipe, seed)},
        what=f"{out} holds another run",
        remedy="resume it with that, or start a new run in another --out",
        free=["valid"] if same_text else [],  # its file may have been moved
    )
