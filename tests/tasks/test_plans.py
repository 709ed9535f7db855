"""TaskPlan.of: a training in one line of Python, and what it leaves for TensorBoard."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.toy_names import write_names
from polyseme.errors import ConfigError
from polyseme.tasks.run import TaskPlan, default_budget, train_task
from polyseme.tasks.trained_task import Task

SMALL = {"elmo": "none", "static": "none", "characters": 4, "hidden": 4, "epochs": 2, "batch": 8}


def test_a_plan_by_names_has_the_fields_of_the_plan_and_the_choices_of_its_preset(tmp_path: Path) -> None:
    plan = TaskPlan.of("ner", write_names(tmp_path / "names"), tmp_path / "run", "cpu", seed=3, lenient=True, **SMALL)
    assert (plan.seed, plan.lenient, plan.budget) == (3, True, "cpu")
    assert (plan.preset.network.hidden, plan.preset.training.epochs, plan.preset.inputs.elmo) == (4, 2, "none")
    assert plan.data.train == tmp_path / "names" / "train.txt"


def test_without_a_gpu_the_budget_is_that_of_a_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("polyseme.tasks.run.choose_device", lambda _: "cpu")
    assert default_budget() == TaskPlan.of("ner", write_names(tmp_path / "names"), tmp_path / "run").budget == "cpu"
    monkeypatch.setattr("polyseme.tasks.run.choose_device", lambda _: "cuda")
    assert default_budget() == "paper"


def test_what_is_no_choice_is_refused_by_name(tmp_path: Path) -> None:
    names = write_names(tmp_path / "names")
    with pytest.raises(ConfigError, match="hiden"):
        TaskPlan.of("ner", names, tmp_path / "run", hiden=4)
    with pytest.raises(ConfigError, match=r"budget is 'gpu', but should be one of: paper, cpu"):
        TaskPlan.of("ner", names, tmp_path / "run", "gpu")


def test_curves_for_tensorboard_have_every_epoch_once_also_after_a_stop(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    names, run = write_names(tmp_path / "names"), tmp_path / "run"
    train_task(TaskPlan.of("ner", names, run, tensorboard=True, **SMALL))
    finished = train_task(TaskPlan.of("ner", names, run, tensorboard=True, **(SMALL | {"epochs": 3})), resume=True)
    board = accumulators.EventAccumulator(str(run / "tensorboard"))
    board.Reload()
    assert set(board.Tags()["scalars"]) == {"loss/train", "rate", "precision/dev", "recall/dev", "f1/dev"}
    assert [one.step for one in board.Scalars("f1/dev")] == [1, 2, 3]
    losses = [one.value for one in board.Scalars("loss/train")]
    assert losses == pytest.approx([one["loss"] for one in finished.progress.history], rel=1e-5)
    assert Task.load(run).about.training.epochs == 3
