"""0 done, 1 failed with one sentence, 2 wrong use, 130 interrupted; never a traceback."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from helpers.command_line import PATIENCE, interrupt, polyseme, refusal, signals, start, toy_model
from polyseme.pretrain.toy import TOY_TEXT


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a running verb has made a file."""
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(0.01)


def test_done() -> None:
    polyseme("info", str(toy_model()))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["info", "nowhere.zip"], "nowhere.zip"),
        (["convert", "nowhere.zip", "there"], "nowhere.zip"),
        (["embed", "nowhere.txt", "--model", "TOY"], "nowhere.txt"),
        (["embed", "text.txt", "--model", "TOY", "--out", "vectors.xls"], "vectors.xls"),
        (["evaluate", "TOY", "nowhere.txt", "--json"], "nowhere.txt"),
        (["score", "nowhere.txt", "--model", "TOY"], "nowhere.txt"),
        (["substitutes", "No word in brackets.", "--model", "TOY"], "brackets"),
        (["index", "nowhere.txt", "--model", "TOY", "--out", "index"], "nowhere.txt"),
        (["index", "text.txt", "--model", "TOY", "--out", "index", "--layers", "7"], "from 0 to 2"),
        (["neighbours", "nowhere", "a [b] c"], "nowhere is not an index"),
        (["prepare", "nowhere.txt", "--out", "corpus"], "nowhere.txt"),
        (["pretrain", "nowhere", "--out", "run"], "nowhere"),
        (["pretrain", "nowhere", "--recipe", "huge", "--out", "run"], "huge"),
    ],
)
def test_failed_in_one_sentence(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("Some text.\n", encoding="utf-8")
    assert named in refusal(*(str(toy_model()) if word == "TOY" else word for word in arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["embedd"],
        ["embed"],
        ["embed", "a.txt", "--dtype", "float8"],
        ["info"],
        ["info", "model", "--frobnicate"],
        ["convert", "only-one"],
        ["prepare", "a.txt"],
        ["evaluate", "model"],
        ["substitutes", "a [b] c", "--k", "0"],
        ["index", "a.txt"],
        ["index", "a.txt", "--out", "index", "--layers", "last"],
        ["neighbours"],
        ["pretrain", "corpus"],
        ["pretrain", "corpus", "--out", "run", "--seed", "x"],
    ],
)
def test_wrong_use(arguments: list[str]) -> None:
    result = polyseme(*arguments, code=2)
    assert "Usage: polyseme" in result.stderr
    assert result.stdout == ""


@signals
def test_a_file_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    assert "taken" in refusal("demo", "--out", str(tmp_path / "taken" / "inside"))


@signals
def test_an_interrupted_pretrain_leaves_a_checkpoint_and_goes_on(tmp_path: Path) -> None:
    polyseme("prepare", str(TOY_TEXT), "--out", str(tmp_path / "corpus"), "--quiet")
    small = ["--set", "softmax.kind=full", "--set", "text.tokens=160", "--set", "budget.validate_every=300"]
    process = start("pretrain", "corpus", "--recipe", "tiny", *small, "--out", "run", cwd=tmp_path)
    wait_for(tmp_path / "run" / "last.safetensors", process)
    assert "polyseme: interrupted" in interrupt(process)
    before = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8")
    resume = ["--resume", "--set", "budget.tokens=1000"]
    polyseme("pretrain", str(tmp_path / "corpus"), "--out", str(tmp_path / "run"), *resume)
    assert (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").startswith(before)
    polyseme("info", str(tmp_path / "run" / "model"))


@signals
def test_an_interrupted_embed_says_how_to_go_on(tmp_path: Path) -> None:
    text = "".join(f"Sentence {number} of a text that takes its time.\n" for number in range(100_000))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    process = start("embed", "text.txt", "--model", str(toy_model()), "--out", "vectors.npz", cwd=tmp_path)
    wait_for(tmp_path / "vectors.npz.parts" / "1-of-1" / "job.json", process)
    assert "--resume" in interrupt(process)
    assert not (tmp_path / "vectors.npz").exists()


@signals
def test_an_interrupted_index_says_how_to_go_on(tmp_path: Path) -> None:
    text = "".join(f"Sentence {number} of a text that takes its time.\n" for number in range(100_000))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    process = start("index", "text.txt", "--model", str(toy_model()), "--out", "index", cwd=tmp_path)
    wait_for(tmp_path / "index.partial" / "contents.json", process)
    assert "--resume" in interrupt(process)
    assert not (tmp_path / "index").exists()
