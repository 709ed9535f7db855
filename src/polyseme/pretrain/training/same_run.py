"""What makes a resumed run the same run.

Rates, schedules, dropout and budgets may change when a run goes on. What its weights, its order of reading and its
perplexities rest on may not: the corpus, the held-out text, the seed, and of the recipe what ``settled`` lists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.jobs.manifests import refuse_other
from polyseme.pretrain.corpus.corpus import META, Corpus
from polyseme.pretrain.recipe import Recipe, recipe_from_dict


def describe_texts(
    corpus: Corpus, valid: Path | None, trained: int, held_out: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """What a checkpoint notes of the text: ``trained`` sentences of a corpus, and what is held out."""
    return {
        "corpus": hashlib.sha256((corpus.folder / META).read_bytes()).hexdigest(),
        "held_out": hashlib.sha256(json.dumps([trained, held_out]).encode()).hexdigest(),
        "valid": None if valid is None else valid.name,
    }


def settled(recipe: Recipe, seed: int) -> dict[str, Any]:
    """What cannot change any more once a run has begun."""
    values = recipe.to_dict()
    found = {f"{part}.{name}": value for part in ("model", "text", "softmax") for name, value in values[part].items()}
    # Each optimiser has a state of its own; how much is validated on may decide what is trained on.
    found |= {"optimizer.name": recipe.optimizer.name, "budget.validate_on": recipe.budget.validate_on}
    return found | {"seed": seed}


def check_same_run(out: Path, saved: Mapping[str, Any], recipe: Recipe, seed: int, texts: Mapping[str, Any]) -> None:
    """Refuse to go on from what a checkpoint notes with another recipe, seed or text than it was written with."""
    before = settled(recipe_from_dict(saved["recipe"]), saved["seed"])
    same_text = saved["held_out"] == texts["held_out"]
    refuse_other(
        {**{name: saved[name] for name in texts}, **before},
        {**texts, **settled(recipe, seed)},
        what=f"{out} holds another run",
        remedy="resume it with that, or start a new run in another --out",
        free=["valid"] if same_text else [],  # its file may have been moved
    )
