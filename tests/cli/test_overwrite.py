"""A file that is there is kept by every verb that writes one, unless --overwrite is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.command_line import polyseme
from helpers.tiny_models import tiny_model
from polyseme.formats.native import save_native

WRITING = {
    "export --static": ("export", "model", "--static", "words.txt", "--out", "there.txt"),
    "export --onnx": ("export", "model", "--onnx", "there.txt"),
    "senses --html": ("senses", "bank", "--model", "model", "--html", "there.txt"),
    "tag --html": ("tag", "A text.", "--html", "there.txt"),
    "task eval": ("task", "eval", "run", "file.txt", "--picture", "there.txt"),
    "task predict": ("task", "predict", "run", "A text.", "--out", "there.txt"),
    "convert": ("convert", "model", "there.txt"),
    "embed": ("embed", "words.txt", "--model", "model", "--out", "there.npz"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_native(tiny_model(), tmp_path / "model")
    (tmp_path / "words.txt").write_text("bank\nriver\n")
    for name in ("there.txt", "there.npz"):
        (tmp_path / name).write_text("of the user")
    return tmp_path


@pytest.mark.parametrize("command", WRITING.values(), ids=WRITING)
def test_what_is_there_is_kept(command: tuple[str, ...], place: Path) -> None:
    said = polyseme(*command, code=1).stderr
    assert f"{command[-1]} already exists; choose another name, or replace it with --overwrite" in said
    assert (place / command[-1]).read_text() == "of the user"


@pytest.mark.parametrize("verb", ["export --static", "embed"])
def test_overwrite_replaces_it(verb: str, place: Path) -> None:
    polyseme(*WRITING[verb], "--overwrite")
    assert (place / WRITING[verb][-1]).read_bytes() != b"of the user"
