"""benchmarks/tasks.py: rows are the runs of `polyseme reproduce`, remembered by the same shelf."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from helpers.paths import BENCHMARKS
from helpers.small_lms import small_lm
from helpers.toy_names import write_names
from polyseme.formats.native import save_native
from polyseme.reproduce import task_runs
from polyseme.settings import with_changes
from polyseme.tasks.data_files import find_data
from polyseme.tasks.definition import find_task
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.trained_task import Task

SMALL = ["static=none", "characters=4", "hidden=8", "epochs=2", "batch=4"]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with results and data of this test."""
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
    preset = with_changes(definition.presets["cpu"], [*SMALL, "elmo=none"])
    scores = []
    for seed in range(2):
        plan = TaskPlan("ner", find_data(tmp_path / "data/ner/uner-ewt"), tmp_path / f"run{seed}", preset, "cpu", seed)
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


def test_scores_on_dev_and_test_are_of_one_training(
    tasks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are committed, and runs are not: what Table 1 shows on test is there when its runs are gone."""
    test = tmp_path / "data/ner/uner-ewt/test.txt"
    test.write_text("Eve\tB-PER\nleft\tO\nRome\tB-LOC\n", encoding="utf-8")
    (dev,), _ = run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1")
    (trained,) = (tmp_path / "work" / "runs").iterdir()
    score = Task.load(trained).evaluate(test).values["f1"]
    shutil.rmtree(trained)
    monkeypatch.setattr(task_runs, "train_task", None)
    rows, _ = run(tasks, monkeypatch, "--elmo", "none", "--seeds", "1", "--split", "test")
    assert [(row["split"], row["scores"]) for row in rows] == [("dev", dev["scores"]), ("test", [round(score, 2)])]


def test_a_row_of_no_table_meets_the_test_set_when_it_is_asked_for(
    tasks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run is kept for that; where it is gone, the row is trained again, with a record of both scores."""
    (tmp_path / "data/ner/uner-ewt/test.txt").write_text("Eve\tB-PER\n", encoding="utf-8")
    save_native(small_lm(), tmp_path / "model")
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    options = ("--elmo", "output", "--seeds", "1", "--model", str(tmp_path / "model"))
    run(tasks, monkeypatch, *options)
    results = tmp_path / "work" / "results"
    (only_dev,) = results.iterdir()
    assert "test" not in json.loads(only_dev.read_text(encoding="utf-8"))["result"]
    with monkeypatch.context() as patch:
        patch.setattr(task_runs, "train_task", None)
        run(tasks, monkeypatch, *options, "--split", "test")
    (both,) = set(results.iterdir()) - {only_dev}
    both.unlink()
    shutil.rmtree(tmp_path / "work" / "runs")
    run(tasks, monkeypatch, *options, "--split", "test")
    assert {"score", "test"} <= json.loads(both.read_text(encoding="utf-8"))["result"].keys()


def test_rows_of_earlier_weights_give_way_and_the_rest_stays(tasks: ModuleType) -> None:
    about = {"layers": "all", "lambda": 0.001, "budget": "cpu", "data": "d", "split": "dev", "metric": "f1"}
    old, new = ({**about, "model": "en", "weights": weights} for weights in ("aaa", "bbb"))
    kept = [
        {**about, "task": "ner", "elmo": "none", "model": None, "weights": None},
        {**about, "task": "ner", "elmo": "input", "model": "ko", "weights": "aaa"},
        {**new, "task": "sst", "elmo": "input"},
    ]
    for row in (*kept[:2], {**old, "task": "snli", "elmo": "both"}, kept[2]):
        tasks.keep_row(row)
    assert json.loads(tasks.RESULTS.read_text(encoding="utf-8")) == kept


def test_the_papers_gain_stands_beside_its_own_choice_of_where_elmo_enters(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"task": "ner", "budget": "cpu", "data": "d", "split": "dev", "metric": "f1", "std": 1.0}
    chosen = {"layers": "all", "lambda": 0.001, "model": "en", "weights": "aaa"}
    tasks.keep_row({**about, **dict.fromkeys(chosen), "elmo": "none", "scores": [79.0, 81.0], "mean": 80.0})
    tasks.keep_row({**about, **chosen, "elmo": "input", "scores": [84.0, 86.0], "mean": 85.0})
    tasks.keep_row({**about, **chosen, "elmo": "output", "scores": [80.0, 82.0], "mean": 81.0})
    shown: list[str] = []
    monkeypatch.setattr(tasks, "fill_in", lambda page, name, text: shown.append(text))
    tasks.write_page()
    assert "| input, all, λ 0.001 | f1 | 85.00 ± 1.00 | 2 | 25.0 % | 21.0 % |" in shown[0]
    assert "| output, all, λ 0.001 | f1 | 81.00 ± 1.00 | 2 | 5.0 % (within the spread) | – |" in shown[0]


def test_one_seed_within_a_point_is_said_to_be_so(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word senses have no seeds: nothing is trained for them."""
    chosen = {"layers": "all", "lambda": 0.001, "model": "en", "weights": "aaa"}
    for task in ("ner", "wsd"):
        about = {"task": task, "budget": "cpu", "data": "d", "split": "dev", "metric": "f1", "std": None}
        tasks.keep_row({**about, **dict.fromkeys(chosen), "elmo": "none", "scores": [80.0], "mean": 80.0})
        tasks.keep_row({**about, **chosen, "elmo": "input", "scores": [80.5], "mean": 80.5})
    shown: list[str] = []
    monkeypatch.setattr(tasks, "fill_in", lambda page, name, text: shown.append(text))
    tasks.write_page()
    assert (
        "| ner | d | dev | input, all, λ 0.001 | f1 | 80.50 | 1 | 2.5 % (within a point, one seed) | 21.0 % |"
        in shown[0]
    )
    assert "| wsd | d | dev | input, all, λ 0.001 | f1 | 80.50 | 1 | 2.5 % | – |" in shown[0]
