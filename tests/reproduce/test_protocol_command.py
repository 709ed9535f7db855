"""The whole protocol as one command, at a small scale: trials, runs, rows with all their fields; what is done stays."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers.paths import BENCHMARKS
from helpers.small_lms import small_lm
from helpers.toy_names import write_names
from polyseme.formats.native import save_native
from polyseme.reproduce import protocol as rules
from polyseme.reproduce.adapted import Adapted

FIELDS = {"vectors", "trained_vectors", "choice", "share", "tuning_trials", "epochs_run", "stopped_by", "p"}
SMALL = ["--set", "hidden=4", "--set", "batch=8", "--set", "rate=0.02", "--vectors", "none", "--threads", "1"]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """benchmarks/protocol.py with a grid of two points, short runs, and a table and page of its own."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("tasks", "pages", "shared_data"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.util.spec_from_file_location("benchmark_protocol", BENCHMARKS / "protocol.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, found)  # its dataclasses look their module up
    spec.loader.exec_module(found)
    monkeypatch.setattr(found.rows_of_tasks, "RESULTS", tmp_path / "tasks.json")
    monkeypatch.setattr(found.rows_of_tasks, "fill_in", lambda *_: None)
    grid = {"network.dropout": (0.0, 0.5), "inputs.characters": (4,), "inputs.word_vectors": ("trained",)}
    monkeypatch.setattr(rules, "GRID", grid)
    monkeypatch.setattr(rules, "LONGEST", 2)
    return found


def test_one_command_makes_trials_runs_and_rows_and_goes_on_where_it_was(
    command: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data" / "ner").mkdir(parents=True)
    folder = write_names(tmp_path / "data" / "ner" / "uner-ewt")
    (folder / "test.txt").write_text((folder / "dev.txt").read_text(encoding="utf-8"), encoding="utf-8")
    save_native(small_lm(), tmp_path / "model")
    adapted = Adapted(tmp_path / "model", before=20.0, after=10.0)  # fine-tuning has a test of its own
    monkeypatch.setattr(command, "adapt_bilm", lambda *_, **__: adapted)
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    asked = ["--task", "ner", "--data", str(tmp_path / "data"), "--work", str(tmp_path / "work"), *SMALL]
    asked += ["--model", str(tmp_path / "model")]
    command.main([*asked, "--estimate"])
    assert "ner: 11 trainings" in capsys.readouterr().out  # 2 x 2 trials, 2 x 3 runs, one with a fine-tuned biLM
    command.main([*asked, "--baselines"])
    assert not (tmp_path / "tasks.json").exists()  # a row needs both arms
    capsys.readouterr()
    command.main([*asked, "--estimate"])
    assert "ner: 6 trainings" in capsys.readouterr().out  # 2 trials, 3 runs and the fine-tuned one, all of ELMo

    command.main(asked)
    rows: list[dict[str, Any]] = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [(row["elmo"], row["split"], "finetuned" in row) for row in rows] == [
        ("none", "dev", False),
        ("none", "test", False),
        ("input", "dev", False),
        ("input", "test", False),
        ("input", "dev", True),
        ("input", "test", True),
    ]
    assert all(row.keys() >= FIELDS for row in rows)
    assert all((row["tuning_trials"], row["vectors"], row["trained_vectors"]) == (2, "none", True) for row in rows)
    assert all(row["stopped_by"] == ["epochs"] * len(row["scores"]) for row in rows)
    assert [len(row["epochs_run"]) for row in rows] == [3, 3, 3, 3, 1, 1]
    assert [row["p"] is not None for row in rows] == [False, False, False, True, False, False]
    assert rows[-1]["finetuned"] == {"before": 20.0, "after": 10.0}

    capsys.readouterr()
    command.main(asked)
    said = capsys.readouterr().out
    assert "ner: 1 training," in said  # of the fine-tuned biLM, whose folder this test does not make
    assert "'epoch'" not in said, "nothing is trained again"
    assert json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8")) == rows


def test_what_another_process_measures_is_left_to_it(
    command: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two measurements is locked: the second is made, then the first is waited for, and found."""
    from argparse import Namespace

    from polyseme.reproduce.measurement import Measurement

    protocol = command.Protocol(Namespace(work=tmp_path), None)
    made = list[str]()

    def measurement(name: str) -> Measurement:
        def measure(_: object) -> dict[str, Any]:
            made.append(name)
            return {"score": 1.0}

        return Measurement(name, {"name": name}, measure, "train", 1.0)

    first, second = measurement("first"), measurement("second")
    protocol.shelf.folder.mkdir(parents=True)
    lock = command.exclusive(protocol.shelf.folder / f"{first.file_name}.lock", "busy")
    lock.__enter__()

    def other_process_ends(_: float) -> None:
        assert made == ["second"]
        lock.__exit__(None, None, None)

    monkeypatch.setattr(command.time, "sleep", other_process_ends)
    protocol.take_all([first, second])
    assert made == ["second", "first"]
