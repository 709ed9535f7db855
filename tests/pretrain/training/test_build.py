"""pretrain --init: the network is the model's, a softmax of another kind is refused, and the card tells both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.small_corpora import small_corpus, small_recipe
from polyseme.errors import ConfigError, JobError
from polyseme.formats.detect import load
from polyseme.pretrain.training.base import BASE, BEFORE, shape_of
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RECIPE, RunPlan, recipe_of_run

ADAPTIVE = {"kind": "adaptive", "cutoffs": [5, 12]}


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    small_corpus(tmp_path)
    return RunPlan(tmp_path / "corpus", tmp_path / "run", small_recipe(), threads=1)


def base(plan: RunPlan, **changes: Any) -> str:
    """A model for the same words."""
    return str(pretrain(replace(plan, out=plan.out.parent / "base", recipe=small_recipe(**changes))))


@pytest.mark.parametrize(
    "shape",
    [
        {"cell": 10, "projection": 5, "filters": [[1, 3], [3, 6]], "layers": 1, "max_characters": 9},
        {"input": "unicode", "highways": 2, "bidirectional": False},
        {"input": "words"},
    ],
    ids=["bytes", "unicode", "words"],
)
def test_the_shape_is_the_models_whatever_the_recipe_says(plan: RunPlan, shape: dict[str, Any]) -> None:
    plan = replace(plan, init=base(plan, model=shape))
    begun_with, model = load(str(plan.init)), load(pretrain(plan))
    assert model.config == begun_with.config
    assert json.loads((plan.out / RECIPE).read_text())["model"] == model.card["training"]["recipe"]["model"]
    told = recipe_of_run(plan.out).model
    assert {name: getattr(told, name) for name in shape} == {
        name: getattr(small_recipe(model=shape).model, name) for name in shape
    }
    assert told == shape_of(model)
    learned = {name: begun_with.card[name] for name in ("training", "curve")}
    assert learned["curve"][-1]["tokens_seen"] == learned["training"]["tokens_seen"]
    assert model.card[BEFORE] == {"name": "base", "fingerprint": begun_with.fingerprint(), **learned}


@pytest.mark.parametrize(
    ("models", "recipes", "sentence"),
    [
        ({"kind": "full"}, ADAPTIVE, "is not adaptive, but the recipe's is adaptive with cutoffs [5, 12]"),
        (ADAPTIVE, {"kind": "sampled"}, "is adaptive with cutoffs [5, 12], but the recipe's is not adaptive"),
        (
            ADAPTIVE,
            ADAPTIVE | {"cutoffs": [6, 12]},
            "cutoffs [5, 12], but the recipe's is adaptive with cutoffs [6, 12]",
        ),
    ],
    ids=["adaptive", "not adaptive", "other cutoffs"],
)
def test_a_softmax_of_another_kind_is_refused(
    plan: RunPlan, models: dict[str, Any], recipes: dict[str, Any], sentence: str
) -> None:
    plan = replace(plan, init=base(plan, softmax=models), recipe=small_recipe(softmax=recipes))
    with pytest.raises(ConfigError) as refused:
        pretrain(plan)
    assert sentence in str(refused.value)
    assert not plan.out.exists() or not list(plan.out.glob("*.safetensors"))


def test_what_the_refusal_advises_works(plan: RunPlan) -> None:
    plan = replace(plan, init=base(plan, softmax=ADAPTIVE))
    with pytest.raises(ConfigError, match=r"use --set softmax\.kind=adaptive --set softmax\.cutoffs=\[5,12\]"):
        pretrain(plan)
    model = load(pretrain(replace(plan, recipe=small_recipe(softmax=ADAPTIVE))))
    assert model.softmax is not None and model.softmax.clusters is not None
    assert model.softmax.clusters.cutoffs == (5, 12)


def test_a_softmax_that_shares_the_words_of_the_input_is_refused(plan: RunPlan) -> None:
    words: dict[str, Any] = {"model": {"input": "words"}, "softmax": {"kind": "full", "share_words": True}}
    plan = replace(plan, init=base(plan, **words), recipe=small_recipe(**words))
    with pytest.raises(ConfigError, match=r"leave out softmax\.share_words"):
        pretrain(plan)


def test_a_run_is_resumed_with_the_model_that_it_began_with(plan: RunPlan, tmp_path: Path) -> None:
    plan = replace(plan, init=base(plan))
    pretrain(plan)
    with pytest.raises(JobError, match=r'model: name was "base" and is none; fingerprint was "1:.*" and is none'):
        pretrain(replace(plan, init=None), resume=True)
    other = str(pretrain(replace(plan, init=None, out=tmp_path / "other", seed=1)))
    with pytest.raises(JobError, match='began with another model: name was "base" and is "other"; fingerprint was'):
        pretrain(replace(plan, init=other), resume=True)
    with pytest.raises(JobError, match='another model: name was none and is "base"; fingerprint was none'):
        pretrain(replace(plan, out=tmp_path / "other", seed=1), resume=True)
    pretrain(plan, resume=True)


def test_a_run_that_died_before_its_first_checkpoint_leaves_no_base_behind(plan: RunPlan) -> None:
    plan.out.mkdir()
    (plan.out / BASE).write_text('{"name": "base", "fingerprint": "1"}\n')
    pretrain(plan)
    pretrain(plan, resume=True)
    assert not (plan.out / BASE).exists()
