"""Ctrl-C while a real process reproduces: it ends with 130, the report has what was measured, and it goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command_line import interrupt, read_until, signals, start
from helpers.paper_data import write_paper_data
from helpers.small_lms import small_lm
from polyseme.formats.native import save_native


@signals
@pytest.mark.slow
def test_ctrl_c_is_130_and_the_report_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    write_paper_data(tmp_path / "data")
    save_native(small_lm(), tmp_path / "model")
    command = ["reproduce", "--data", "data", "--model", "model", "--vectors", "data/vectors.txt", "--out", "report"]
    command += ["--budget", "quick", "--only", "table3", "--task", "snli"]
    process = start(*command, cwd=tmp_path)
    read_until(process, "[2 of 3]")
    assert "the same command continues" in interrupt(process)
    assert [run is not None for run in scores(tmp_path)] == [True, False, False]
    done = subprocess.run(
        [sys.executable, "-m", "polyseme", *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("[1 of 2] snli, ELMo at input and output")
    assert all(scores(tmp_path))


def scores(folder: Path) -> list[object]:
    results = json.loads((folder / "report" / "reproduction.json").read_text(encoding="utf-8"))
    row = results["parts"]["table3"]["figures"]["snli"]
    return [run for place in ("input", "both", "output") for run in row[place]]
