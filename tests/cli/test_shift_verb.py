"""polyseme shift, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.command_line import polyseme, toy_model
from polyseme.cli import shift as verb

BEFORE = "He rowed the boat to the bank .\n\nThe bank of the river was green .\n\n" * 4
AFTER = "The bank lends money .\n\nShe has an account at the bank .\n\n" * 4


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("before.txt").write_text(BEFORE, encoding="utf-8")
    Path("after.txt").write_text(AFTER, encoding="utf-8")
    return ["shift", "before.txt", "after.txt", "--model", str(toy_model()), "--words", "bank,boat"]


def test_as_lines_json_and_table(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = polyseme(*texts)
    header, line = said.stdout.splitlines()
    assert header.split("\t")[:3] == ["word", "before", "after"]
    assert line.split("\t")[:3] == ["bank", "8", "8"]
    assert "left out: the word 'boat' has 4 uses in the first text" in said.stderr
    told = json.loads(polyseme(*texts, "--json").stdout)
    assert told["words"][0]["measures"]["APD"]["p"] == pytest.approx(float(line.split("\t")[-2]), abs=1e-4)
    monkeypatch.setattr(verb, "on_terminal", lambda: True)
    shown = polyseme(*texts).stdout
    assert "bank" in shown and "by chance" in shown


def test_a_folder_and_a_picture(texts: list[str]) -> None:
    polyseme(*texts, "--out", "out", "--picture", "shift.png", "--quiet")
    assert Path("shift.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(Path("out/shift.json").read_text(encoding="utf-8"))["words"][0]["word"] == "bank"
    assert "already exists" in polyseme(*texts, "--out", "out", code=1).stderr
    polyseme(*texts, "--out", "out", "--resume")


def test_an_estimate_writes_nothing(texts: list[str]) -> None:
    assert "at most about" in polyseme(*texts, "--estimate", "--out", "out").stdout
    assert not Path("out").exists()


def test_words_from_a_file(texts: list[str]) -> None:
    Path("words.txt").write_text("bank\n", encoding="utf-8")
    assert polyseme(*texts[:-1], "words.txt").stdout.splitlines()[1].startswith("bank\t")


def test_without_a_word_to_compare_nothing_is_kept(texts: list[str]) -> None:
    assert "no word could be compared" in polyseme(*texts[:-1], "boat", code=1).stderr
    Path("empty.txt").touch()
    assert "empty.txt is empty: it has no word" in polyseme("shift", texts[1], "empty.txt", *texts[3:-2], code=1).stderr
    assert "name words with --words" in polyseme(*texts[:-2], "--out", "out", code=1).stderr
    polyseme(*texts, "--out", "out", "--quiet")


def test_wrong_use_is_said(texts: list[str]) -> None:
    assert "there is no file other.txt" in polyseme(*texts[:-1], "other.txt", code=2).stderr
    assert "--out" in polyseme(*texts, "--resume", code=2).stderr
    assert ".png" in polyseme(*texts, "--picture", "shift.jpg", code=2).stderr
