"""A resumed run is the same run: rates and budgets may change, and the run says so; what it rests on may not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

from helpers.damage import flip_bit
from helpers.small_corpora import random_text, small_corpus, small_recipe
from polyseme.errors import ConfigError, JobError
from polyseme.formats.detect import load
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.pretrain.training.journal import read_journal
from polyseme.pretrain.training.open_run import LAST
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan, recipe_of_run, resumed_recipe

HALF = {"tokens": 700}


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    """Of a run that has seen half of what the plan says."""
    small_corpus(tmp_path)
    plan = RunPlan(tmp_path / "corpus", tmp_path / "run", small_recipe(), threads=1)
    pretrain(replace(plan, recipe=small_recipe(budget=HALF)))
    return plan


def rates(out: Path) -> list[float]:
    return [line["rate"] for line in read_journal(out / "log.jsonl") if "rate" in line]


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"rate": 0.001, "schedule": "constant", "warmup": 0.0}},
        {"optimizer": {"clip_norm": None, "beta2": 0.999, "accumulate": 2}},
        {"dropout": 0.3, "budget": {"validate_every": 300, "patience": 5, "checkpoint_minutes": 1.0}},
    ],
    ids=["rate", "optimizer", "budget"],
)
def test_rates_and_budgets_may_change_and_the_run_says_so(plan: RunPlan, changes: dict[str, Any]) -> None:
    changed = replace(plan, recipe=small_recipe(**changes))
    model = load(pretrain(changed, resume=True))
    assert recipe_of_run(plan.out) == changed.recipe
    assert model.card["training"]["recipe"] == changed.recipe.to_dict()
    assert model.card["training"]["tokens_seen"] >= 1500 * 0.7
    if "rate" in changes.get("optimizer", {}):
        assert rates(plan.out)[-1] == 0.001


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": {"cell": 16}}, "model.cell was 12 and is 16"),
        ({"model": {"filters": [[1, 9]]}}, "model.filters was [[1, 4], [2, 5]] and is [[1, 9]]"),
        ({"model": {"cell_clip": None}}, "model.cell_clip was 3 and is none"),
        ({"text": {"read": "windows"}}, 'text.read was "sentences" and is "windows"'),
        ({"text": {"tokens": 80}}, "text.tokens was 60 and is 80"),
        ({"softmax": {"kind": "full"}}, 'softmax.kind was "sampled" and is "full"'),
        ({"softmax": {"negatives": 9}}, "softmax.negatives was 8 and is 9"),
        ({"optimizer": {"name": "adagrad"}}, 'optimizer.name was "adamw" and is "adagrad"'),
        ({"budget": {"validate_on": 9}}, "budget.validate_on was 200 and is 9"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_the_weights_and_the_order_rest_on_may_not(plan: RunPlan, changes: dict[str, Any], sentence: str) -> None:
    before = (plan.out / LAST).read_bytes(), recipe_of_run(plan.out)
    with pytest.raises(JobError) as refused:
        pretrain(replace(plan, recipe=small_recipe(**changes)), resume=True)
    assert f"{plan.out} holds another run: " in str(refused.value)
    assert f"{sentence}; resume it with that, or start a new run in another --out" in str(refused.value)
    assert ((plan.out / LAST).read_bytes(), recipe_of_run(plan.out)) == before


def test_nor_the_seed(plan: RunPlan) -> None:
    with pytest.raises(JobError, match="holds another run: seed was 0 and is 1; resume it with that"):
        pretrain(replace(plan, seed=1), resume=True)


def test_nor_the_held_out_text(plan: RunPlan, tmp_path: Path) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text(random_text(30, seed=5), encoding="utf-8")
    with pytest.raises(JobError, match=r'held_out was "\w+…\w+" and is "\w+…\w+"; valid was none and is "valid\.txt"'):
        pretrain(replace(plan, valid=valid), resume=True)
    plan = replace(plan, valid=valid, out=tmp_path / "other")
    pretrain(plan)
    valid.write_text(random_text(30, seed=6), encoding="utf-8")
    with pytest.raises(JobError, match=r'another run: held_out was "\w+…\w+" and is "\w+…\w+"; resume'):
        pretrain(plan, resume=True)


def test_held_out_text_under_another_name_is_the_same(plan: RunPlan, tmp_path: Path) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text(random_text(30, seed=5), encoding="utf-8")
    plan = replace(plan, valid=valid, out=tmp_path / "other")
    pretrain(plan)
    pretrain(replace(plan, valid=valid.rename(tmp_path / "moved.txt")), resume=True)


def test_a_resumed_run_keeps_its_recipe_and_takes_changes(plan: RunPlan) -> None:
    recipe = resumed_recipe(plan.out, None, ["optimizer.rate=0.5"])
    assert recipe == small_recipe(budget=HALF, optimizer={"rate": 0.5})


def test_a_recipe_of_another_name_is_refused(plan: RunPlan, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"has the recipe custom, not tiny; leave out --recipe, and change single"):
        resumed_recipe(plan.out, "tiny", [])
    (tmp_path / "custom.toml").write_text("dropout = 0.1\n")
    assert resumed_recipe(plan.out, str(tmp_path / "custom.toml"), []) == recipe_of_run(plan.out)
    with pytest.raises(ConfigError, match="there is no recipe 'huge'"):
        resumed_recipe(plan.out, "huge", [])


def test_the_time_of_all_sittings_counts(plan: RunPlan) -> None:
    """Also that between the last look at held-out text and a stop, which only the checkpoint knows."""
    tensors, meta = read_run_file(plan.out / LAST, "")
    assert 0 < meta["seconds"] < 600
    save_run_file(plan.out / LAST, tensors, {**meta, "seconds": 7200.0})
    assert 2 <= load(pretrain(plan, resume=True)).card["training"]["hours"] < 2.2


def test_a_damaged_checkpoint_is_named_and_not_gone_on_with(plan: RunPlan) -> None:
    whole = (plan.out / LAST).read_bytes()
    for seed in range(20):
        flip_bit(plan.out / LAST, seed)
        with pytest.raises(
            JobError, match=r"last\.safetensors is (damaged|not a readable file of a training run).*put a copy of"
        ):
            pretrain(plan, resume=True)
        (plan.out / LAST).write_bytes(whole)


def test_a_checkpoint_without_a_checksum_is_resumed(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """One from before there were any."""
    tensors, meta = read_run_file(plan.out / LAST, "")
    save_file(tensors, plan.out / LAST, {"run": json.dumps(meta)})
    pretrain(plan, resume=True)
