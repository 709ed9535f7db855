"""Results go to standard output, everything else to standard error; both survive pipes and any script's names."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers.command_line import polyseme, start, toy_model
from polyseme.cli.app import app
from polyseme.embed import read
from polyseme.pretrain.toy import TOY_TEXT


def test_json_is_all_that_stands_on_standard_output(tmp_path: Path) -> None:
    prepared = polyseme("prepare", str(TOY_TEXT), "--out", str(tmp_path / "corpus"), "--json")
    assert json.loads(prepared.stdout)["sentences"] == 100
    described = polyseme("info", str(toy_model()), "--json")
    assert json.loads(described.stdout)["parameters"] > 0
    words = polyseme("substitutes", "Live in the [present].", "--model", str(toy_model()), "--k", "3", "--json")
    assert len(json.loads(words.stdout)) == 3
    scored = polyseme("score", "Live in the present.", "--model", str(toy_model()), "--json")
    assert json.loads(scored.stdout)["id"] == "0"
    evaluated = polyseme("evaluate", str(toy_model()), str(TOY_TEXT), "--json")
    assert json.loads(evaluated.stdout)["average"] > 1


def test_quiet_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Here is your present.\n", encoding="utf-8")
    out = ["--out", str(tmp_path / "vectors.npz")]
    result = polyseme("embed", str(tmp_path / "text.txt"), "--model", str(toy_model()), *out, "--quiet")
    assert result.output == ""


def test_standard_input_is_a_file_named_minus(tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    arguments = ["embed", "-", "--model", str(toy_model()), "--out", str(out)]
    result = CliRunner().invoke(app, arguments, input="Here is your present.\nLive in the present.\n")
    assert result.exit_code == 0, result.output
    assert [record.text for record in read(out)] == ["Here is your present.", "Live in the present."]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close differently on Windows")
def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    """As in `polyseme info MODEL --json | head -1`, with a reader that is gone before the first line."""
    process = start("info", str(toy_model()), "--json", cwd=tmp_path)
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1


@pytest.mark.parametrize("name", ["Мои модели", "模型 一", "نماذج", "modèles d'été", "with 'quotes' & spaces"])
def test_names_in_any_script(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_model(), name)
    Path(f"{name}.txt").write_text("Here is your present.\n", encoding="utf-8")
    polyseme("info", name)
    polyseme("embed", f"{name}.txt", "--model", name, "--out", f"{name}.h5")
    (record,) = read(f"{name}.h5")
    assert (record.source, record.tokens) == (f"{name}.txt", ["Here", "is", "your", "present", "."])


def test_a_name_that_is_not_there_is_printed_as_it_was_given(tmp_path: Path) -> None:
    process = start("info", "нет такой модели", cwd=tmp_path)
    _, said = process.communicate()
    assert process.returncode == 1
    assert "нет такой модели" in said
