"""A run in its folder: it learns, it stops and resumes with the same losses, and it ends as a model that loads."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.command_line import PATIENCE, signals
from helpers.small_corpora import random_text, small_corpus, small_recipe
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, JobError
from polyseme.formats.detect import load
from polyseme.jobs.atomic import exclusive
from polyseme.lm.likelihood import Likelihood
from polyseme.nn import run_file
from polyseme.nn.bilm import BiLM
from polyseme.nn.training_kernel import has_bfloat16
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.corpus.held_out import held_out_sentences
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.training import checkpoint as checkpoint_module
from polyseme.pretrain.training import pretraining
from polyseme.pretrain.training.build import trained_model
from polyseme.pretrain.training.journal import draw_curve, read_journal
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.perplexity import evaluate
from polyseme.pretrain.training.pretraining import LOCK, pretrain, product_precision
from polyseme.pretrain.training.run_plan import RunPlan, recipe_of_run
from polyseme.pretrain.training.trainer import StepReport

WINDOWS = {"read": "windows", "rows": 6, "steps": 5}
KERNEL_SIZES = {"cell": 32, "projection": 16, "character_dim": 16}  # whole vectors: the compiled kernel takes them


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    small_corpus(tmp_path)
    return RunPlan(tmp_path / "corpus", tmp_path / "run", small_recipe(), threads=1)


def losses(folder: Path) -> list[tuple[int, float, float]]:
    lines = read_journal(folder / "log.jsonl")
    return [(line["step"], line["forward"], line["backward"]) for line in lines if "forward" in line]


def looks(folder: Path) -> list[dict[str, Any]]:
    return [line for line in read_journal(folder / "log.jsonl") if "valid" in line]


def test_a_run_learns_and_ends_as_a_model(plan: RunPlan) -> None:
    plan = replace(
        plan,
        recipe=small_recipe(dropout=0.0, optimizer={"rate": 0.03}, budget={"tokens": 12_000, "validate_every": 1000}),
    )
    model = load(pretrain(plan))
    perplexities = [line["valid"]["average"] for line in looks(plan.out)]
    assert perplexities[-1] < 0.6 * perplexities[0]
    assert model.softmax is not None and model.vocabulary is not None
    assert len(model.softmax.bias) == len(model.vocabulary)
    training = model.card["training"]
    assert training["tokens_seen"] >= 12_000 * 0.7
    assert training["held_out"]["average"] == pytest.approx(min(perplexities))
    assert model.card["state"] == "reset"
    assert (plan.out / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("lang", "unit"), [("ko", "morpheme"), ("ko-eojeol", None)])
def test_the_card_says_what_a_token_is(tmp_path: Path, lang: str, unit: str | None) -> None:
    text = tmp_path / "text.txt"
    text.write_text("어부들은 작은 배를 탔다.\n배가 고파서 사과를 먹었다.\n" * 60, encoding="utf-8")
    prepare([text], tmp_path / "corpus", lang=lang, workers=1)
    recipe = small_recipe(budget={"tokens": 200})
    model = load(pretrain(RunPlan(tmp_path / "corpus", tmp_path / "run", recipe, threads=1)))
    assert model.card["languages"] == ["ko"]
    assert (model.card["tokenization"], model.card.get("unit")) == (lang, unit)
    (encoding,) = Elmo(model, device="cpu").encode_tokens([["배를", "탔다", "."]])
    assert encoding.layers.shape[1] == 3
    assert ("배" in model.vocabulary) == (lang == "ko")  # type: ignore[operator]


@pytest.mark.parametrize("text", [{"read": "sentences"}, WINDOWS], ids=["sentences", "windows"])
def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(plan: RunPlan, tmp_path: Path, text: Any) -> None:
    recipe = small_recipe(text=text, budget={"checkpoint_minutes": 1e-9})  # a checkpoint after every step
    pretrain(replace(plan, out=tmp_path / "whole", recipe=recipe))

    def stop(report: Any) -> None:
        if report.step in (9, 17):
            raise KeyboardInterrupt

    plan = replace(plan, recipe=recipe)
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt):
            pretrain(plan, resume=resume, watch=Watch(stepped=stop))
    pretrain(plan, resume=True)
    assert losses(plan.out) == losses(tmp_path / "whole")
    assert load(plan.out / "model").fingerprint() == load(tmp_path / "whole" / "model").fingerprint()


def test_the_best_model_so_far_can_be_tried_while_the_run_goes_on(plan: RunPlan) -> None:
    seen: list[int] = []

    def look(report: Any) -> None:
        if (plan.out / "model").is_dir():
            seen.append(load(plan.out / "model").card["training"]["tokens_seen"])

    pretrain(plan, watch=Watch(stepped=look))
    assert seen and seen == sorted(seen) and seen[0] < load(plan.out / "model").card["training"]["tokens_seen"]


def test_half_precision_is_for_devices_that_have_it(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    for device, has in (("cuda", True), ("cpu", True), ("cpu", False)):
        monkeypatch.setattr(pretraining, "has_bfloat16", lambda has=has: has)
        assert product_precision("float32", torch.device(device)) == torch.float32
        assert product_precision("auto", torch.device(device)) == (torch.bfloat16 if has else torch.float32)
    with pytest.raises(ConfigError, match="this CPU or the installed kernel does not support it"):
        pretrain(replace(plan, recipe=small_recipe(precision="bfloat16")))


@pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16 instructions")
def test_in_bfloat16_a_run_learns_as_much(plan: RunPlan) -> None:
    perplexities = []
    for precision in ("float32", "bfloat16"):
        out = plan.out.with_name(precision)
        pretrain(replace(plan, out=out, recipe=small_recipe(precision=precision, model=KERNEL_SIZES)))
        perplexities.append(looks(out)[-1]["valid"]["average"])
    assert perplexities[0] != perplexities[1]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=0.02)


@signals
def test_ctrl_c_finishes_the_step_and_saves_it(plan: RunPlan) -> None:
    endless = replace(plan, recipe=small_recipe(budget={"tokens": 10**9, "validate_every": 10**9}))
    process = start(endless)
    while not losses(plan.out):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert process.stderr is not None and b"Traceback" not in process.stderr.read()
    _, meta = checkpoint_module.read_checkpoint(plan.out / "last.safetensors")
    assert meta["step"] == losses(plan.out)[-1][0]


def start(plan: RunPlan, *options: str) -> subprocess.Popen[bytes]:
    changes = [
        f"--set={section}.{k}={json.dumps(v)}"
        for section, values in plan.recipe.to_dict().items()
        if isinstance(values, dict)
        for k, v in values.items()
        if v is not None
    ]
    command = [
        sys.executable,
        "-m",
        "polyseme",
        "pretrain",
        str(plan.corpus),
        "--recipe",
        "tiny",
        "--out",
        str(plan.out),
        "--threads",
        "1",
        "--set=dropout=0.1",
        *changes,
        *options,
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def test_a_run_that_is_killed_five_times_at_any_moment_has_the_losses_of_one_that_never_stopped(
    plan: RunPlan, tmp_path: Path
) -> None:
    recipe = small_recipe(budget={"tokens": 4000, "checkpoint_minutes": 1e-4})
    whole = replace(plan, out=tmp_path / "whole", recipe=recipe)
    assert start(whole).wait(PATIENCE) == 0
    plan, chance = replace(plan, recipe=recipe), random.Random(0)
    for _ in range(5):
        process = start(plan, *(["--resume"] if (plan.out / "last.safetensors").exists() else []))
        before = len(losses(plan.out))
        while process.poll() is None and len(losses(plan.out)) <= before + 3:
            time.sleep(0.02)
        time.sleep(chance.random() / 10)
        process.kill()
        process.wait()
    finished = start(plan, *(["--resume"] if (plan.out / "last.safetensors").exists() else []))
    assert finished.wait(PATIENCE) == 0, finished.stderr and finished.stderr.read()
    assert losses(plan.out) == losses(whole.out)
    assert load(plan.out / "model").fingerprint() == load(whole.out / "model").fingerprint()


def test_a_longer_budget_on_resume(plan: RunPlan) -> None:
    pretrain(plan)
    longer = replace(plan, recipe=small_recipe(budget={"tokens": 2500}))
    pretrain(longer, resume=True)
    assert losses(plan.out)[-1][0] > 25
    assert recipe_of_run(plan.out) == longer.recipe


def test_patience_ends_a_run_early(plan: RunPlan) -> None:
    recipe = small_recipe(optimizer={"rate": 1e-12}, budget={"tokens": 100_000, "validate_every": 200, "patience": 2})
    pretrain(replace(plan, recipe=recipe))
    assert looks(plan.out)[-1]["tokens"] < 10_000


def test_accumulated_batches_are_one_update(plan: RunPlan) -> None:
    pretrain(replace(plan, recipe=small_recipe(optimizer={"accumulate": 3})))
    steps = [line for line in read_journal(plan.out / "log.jsonl") if "forward" in line]
    assert steps[0]["tokens"] > 2.5 * 60 * 0.7


@pytest.mark.parametrize(
    "changes",
    [
        {"softmax": {"kind": "full"}},
        {"softmax": {"kind": "adaptive", "cutoffs": [5, 12]}},
        {"softmax": {"shared_negatives": False}},
        {"optimizer": {"name": "adagrad", "rate": 0.2, "schedule": "constant", "warmup": 0.0}},
        {"model": {"input": "unicode"}},
        {"model": {"input": "words"}, "softmax": {"kind": "full", "share_words": True}},
        {"model": {"layers": 1, "bidirectional": False, "skip_connections": False}},
    ],
    ids=["full", "adaptive", "own negatives", "adagrad", "unicode", "shared words", "forward only"],
)
def test_every_choice_trains_and_loads(plan: RunPlan, changes: dict[str, Any]) -> None:
    model = load(pretrain(replace(plan, recipe=small_recipe(**changes))))
    assert BiLM.of(model).config == model.config
    held_out = looks(plan.out)[-1]["valid"]
    assert 1 < held_out["average"] < 2 * len(model.vocabulary or ())


def test_an_adaptive_softmax_learns_and_is_saved_exactly(plan: RunPlan) -> None:
    recipe = small_recipe(
        dropout=0.0,
        softmax={"kind": "adaptive", "cutoffs": [5, 12]},
        optimizer={"rate": 0.03},
        budget={"tokens": 12_000, "validate_every": 1000},
    )
    model = load(pretrain(replace(plan, recipe=recipe)))
    perplexities = [line["valid"]["average"] for line in looks(plan.out)]
    assert perplexities[-1] < 0.6 * perplexities[0]
    assert model.softmax is not None and model.softmax.clusters is not None
    assert model.softmax.clusters.cutoffs == (5, 12)
    _, held_out = held_out_sentences(open_corpus(plan.corpus), None, recipe.budget.validate_on)
    assert model.vocabulary is not None
    again = evaluate(trained_model(model), held_out, model.vocabulary, model.indexer)
    assert sum(again, Likelihood()).perplexity == pytest.approx(min(perplexities), rel=1e-5)


def test_cutoffs_that_do_not_fit_the_words_are_refused(plan: RunPlan) -> None:
    with pytest.raises(ConfigError, match="should rise and stay below the"):
        pretrain(replace(plan, recipe=small_recipe(softmax={"kind": "adaptive", "cutoffs": [5, 50_000]})))


def test_training_goes_on_from_the_weights_of_a_model(plan: RunPlan, tmp_path: Path) -> None:
    pretrain(plan)
    further = replace(plan, out=tmp_path / "further", init=str(plan.out / "model"))
    pretrain(further)
    assert losses(further.out)[0][1] < losses(plan.out)[0][1] - 0.05


def test_held_out_text_of_its_own(plan: RunPlan, tmp_path: Path) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text(random_text(30, seed=5), encoding="utf-8")
    pretrain(replace(plan, valid=valid))
    assert looks(plan.out)[0]["valid"]["tokens"] == sum(len(line.split()) for line in valid.read_text().splitlines())


def test_a_folder_that_holds_a_run_is_not_overwritten(plan: RunPlan) -> None:
    pretrain(plan)
    with pytest.raises(JobError, match="already holds a run; continue it with --resume"):
        pretrain(plan)


def test_nothing_to_resume(plan: RunPlan) -> None:
    with pytest.raises(JobError, match="holds no checkpoint to resume"):
        pretrain(plan, resume=True)


def test_another_corpus_on_resume_is_refused(plan: RunPlan, tmp_path: Path) -> None:
    pretrain(plan)
    (tmp_path / "other").mkdir()
    small_corpus(tmp_path / "other", sentences=100)
    with pytest.raises(JobError, match=r'holds another run: corpus was ".*" and is ".*"; .*resume it with that'):
        pretrain(replace(plan, corpus=tmp_path / "other" / "corpus"), resume=True)


def test_a_run_folder_in_use_is_refused(plan: RunPlan) -> None:
    plan.out.mkdir()
    with exclusive(plan.out / LOCK, "busy"), pytest.raises(JobError, match="another process is training in"):
        pretrain(plan)


def test_a_full_disk_keeps_the_last_checkpoint(plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    pretrain(plan)
    before = (plan.out / "last.safetensors").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_file, "save_file", full)
    with pytest.raises(JobError, match="disk"):
        pretrain(replace(plan, recipe=small_recipe(budget={"tokens": 3000})), resume=True)
    assert (plan.out / "last.safetensors").read_bytes() == before


def test_a_corpus_of_one_sentence_needs_held_out_text(tmp_path: Path) -> None:
    small_corpus(tmp_path, sentences=1)
    plan = RunPlan(tmp_path / "corpus", tmp_path / "run", small_recipe(softmax={"kind": "full"}), threads=1)
    with pytest.raises(ConfigError, match="single sentence"):
        pretrain(plan)
    pretrain(
        replace(plan, valid=tmp_path / "text.txt", recipe=small_recipe(softmax={"kind": "full"}, budget={"tokens": 50}))
    )


def test_more_negatives_than_words_are_refused(plan: RunPlan) -> None:
    with pytest.raises(ConfigError, match="draws 5000 negatives from a vocabulary of"):
        pretrain(replace(plan, recipe=small_recipe(softmax={"negatives": 5000})))


def test_a_diverging_run_says_what_to_do(plan: RunPlan) -> None:
    with pytest.raises(JobError, match="training diverged; resume from the last checkpoint with a lower rate"):
        pretrain(
            replace(
                plan,
                recipe=small_recipe(
                    model={"cell_clip": None, "projection_clip": None},
                    optimizer={"rate": 1e30, "warmup": 0.0, "clip_norm": None},
                ),
            )
        )


def test_the_curve_of_an_empty_journal_is_a_picture(tmp_path: Path) -> None:
    assert draw_curve(tmp_path / "none.jsonl", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000
    assert math.isfinite((tmp_path / "curve.png").stat().st_size)


def test_a_moving_average_is_what_is_validated_and_kept_and_it_survives_a_stop(plan: RunPlan) -> None:
    recipe = small_recipe(optimizer={"average": 0.9})
    pretrain(replace(plan, recipe=recipe))
    tensors, _ = checkpoint_module.read_checkpoint(plan.out / "last.safetensors")
    name = "bilm.directions.0.cells.0.bias"
    kept = load(plan.out / "model").tensors[name.removeprefix("bilm.")]
    best, _ = checkpoint_module.read_checkpoint(plan.out / "best.safetensors")
    assert np.array_equal(best[f"model.{name}"], kept)
    assert not torch.equal(tensors[f"average.{name}"], tensors[f"model.{name}"])

    halves = replace(plan, out=plan.out.with_name("halves"), recipe=recipe)

    def stop(report: StepReport) -> None:
        if report.step == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain(halves, watch=Watch(stepped=stop))
    pretrain(halves, resume=True)
    again, _ = checkpoint_module.read_checkpoint(halves.out / "last.safetensors")
    assert torch.equal(again[f"average.{name}"], tensors[f"average.{name}"])
