"""benchmarks/tasks.py: rows are the runs of `polyseme reproduce`, remembered by the same shelf."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from names import write_names

from polyseme.analysis.reproduce import task_runs
from polyseme.tasks.data_files import find_data
from polyseme.tasks.registry import find_task
from polyseme.tasks.run import RunPlan, change_preset, read_changes, train_task

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SMALL = ["static=none", "characters=4", "hidden=8", "epochs=2", "batch=4"]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with results and data of this test."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = importlib.util.spec_from_file_location("benchmark_tasks", BENCHMARKS / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "data" / "ner").mkdir(parents=True)
    write_names(tmp_path / "data" / "ner" / "uner-ewt")
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "tasks.json")
    return module


def run(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[list[dict[str, Any]], str]:
    """The rows that are written then, and the table."""
    shown: list[str] = []
    monkeypatch.setattr(tasks, "fill_in", lambda page, name, text: shown.append(text))
    changes = [word for change in SMALL for word in ("--set", change)]
    folder = tasks.RESULTS.parent / "work"
    common = ["--task", "ner", "--work", str(folder), "--threads", str(torch.get_num_threads())]
    monkeypatch.setattr(sys, "argv", ["tasks.py", *common, *changes, *options])
    tasks.main()
    return json.loads(tasks.RESULTS.read_text(encoding="utf-8")), shown[-1]


def test_a_row_has_the_scores_of_its_runs(tasks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,), table = run(tasks, monkeypatch, "--elmo", "none", "--seeds", "2")
    definition = find_task("ner")
    preset = change_preset(definition.presets["cpu"], {**read_changes(SMALL), "elmo": "none"})
    scores = []
    for seed in range(2):
        plan = RunPlan("ner", find_data(tmp_path / "data/ner/uner-ewt"), tmp_path / f"run{seed}", preset, "cpu", seed)
        scores.append(round(train_task(plan).scores.values["f1"], 2))
    assert row["scores"] == scores
    assert (row["task"], row["elmo"], row["layers"], row["model"], row["split"]) == ("ner", "none", None, None, "dev")
    assert f"| ner | ner/uner-ewt | dev | none | f1 | {row['mean']:.2f} ± {row['std']:.2f} | 2 | – | – |" in table


def test_what_was_run_is_not_run_again(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1")
    monkeypatch.setattr(task_runs, "train_task", None)
    assert run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1")[0] == before
    with pytest.raises(TypeError):  # another seed is another run
        run(tasks, monkeypatch, "--elmo", "none", "--seeds", "2")


def test_a_set_without_a_test_file_has_no_row(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1")
    rows, _ = run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1", "--split", "test")
    assert [row["split"] for row in rows] == ["dev"]
    assert "ner has no test file" in capsys.readouterr().out
