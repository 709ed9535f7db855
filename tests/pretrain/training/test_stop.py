"""Ctrl-C at the awkward moments: the run can be resumed, goes on with the same bits, and finishes what was left."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.small_corpora import small_corpus, small_recipe
from polyseme.formats.detect import load
from polyseme.pretrain.training import open_run as run_module
from polyseme.pretrain.training.journal import read_journal
from polyseme.pretrain.training.open_run import LAST, Watch
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.pretrain.training.trainer import StepReport, Training


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    small_corpus(tmp_path)
    return RunPlan(tmp_path / "corpus", tmp_path / "run", small_recipe(), threads=1)


def log_of(out: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in read_journal(out / "log.jsonl")]


def ctrl_c_at_step(wanted: Callable[[StepReport], bool]) -> Watch:
    """Ctrl-C while the first step is reported that is the wanted one."""
    pressed: list[StepReport] = []

    def stepped(report: StepReport) -> None:
        if wanted(report) and not pressed:
            pressed.append(report)
            signal.raise_signal(signal.SIGINT)

    return Watch(stepped=stepped)


def ctrl_c_while_looking(monkeypatch: pytest.MonkeyPatch, wanted: Callable[[Training], bool]) -> Watch:
    """Ctrl-C when the held-out text is about to be read."""
    held: list[Training] = []
    evaluate = run_module.evaluate

    def interrupted(*args: Any, **options: Any) -> Any:
        if wanted(held[0]):
            signal.raise_signal(signal.SIGINT)
        return evaluate(*args, **options)

    monkeypatch.setattr(run_module, "evaluate", interrupted)
    return Watch(started=held.append)


def steps_of(plan: RunPlan) -> list[int]:
    """Resume, and say which steps that took."""
    steps: list[int] = []
    pretrain(plan, resume=True, watch=Watch(stepped=lambda report: steps.append(report.step)))
    return steps


def assert_same_run(one: Path, other: Path) -> None:
    assert log_of(one) == log_of(other)
    assert load(one / "model").fingerprint() == load(other / "model").fingerprint()


@pytest.mark.parametrize("moment", ["step", "look"])
@pytest.mark.parametrize("looks", [1, 3])
def test_in_the_last_step_or_look_nothing_is_left_but_to_look_and_save(
    plan: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, looks: int
) -> None:
    plan = replace(plan, recipe=small_recipe(budget={"validate_every": 1500 // looks}))
    pretrain(replace(plan, out=tmp_path / "whole"))
    with monkeypatch.context() as patched:
        watch = (
            ctrl_c_at_step(lambda report: report.tokens >= 1500)
            if moment == "step"
            else ctrl_c_while_looking(patched, lambda training: training.tokens >= 1500)
        )
        with pytest.raises(KeyboardInterrupt):
            pretrain(plan, watch=watch)
    assert (plan.out / LAST).exists()
    assert steps_of(plan) == []
    assert_same_run(plan.out, tmp_path / "whole")


def test_in_a_step_after_which_a_look_is_due_the_look_comes_first(plan: RunPlan, tmp_path: Path) -> None:
    pretrain(replace(plan, out=tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        pretrain(plan, watch=ctrl_c_at_step(lambda report: report.tokens >= 500))
    pretrain(plan, resume=True)
    assert_same_run(plan.out, tmp_path / "whole")


def test_in_the_first_look_at_another_model(plan: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = str(pretrain(replace(plan, out=tmp_path / "base")))
    plan = replace(plan, init=base)
    pretrain(replace(plan, out=tmp_path / "whole"))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        pretrain(plan, watch=ctrl_c_while_looking(patched, lambda training: training.step == 0))
    pretrain(plan, resume=True)
    assert_same_run(plan.out, tmp_path / "whole")


def test_a_run_that_ended_for_want_of_patience_does_not_go_on(plan: RunPlan) -> None:
    budget = {"tokens": 100_000, "validate_every": 200, "patience": 2}
    plan = replace(plan, recipe=small_recipe(optimizer={"rate": 1e-12}, budget=budget))
    pretrain(plan)
    before = log_of(plan.out)
    assert steps_of(plan) == []
    assert log_of(plan.out) == before
