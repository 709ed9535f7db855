"""docs/your-own-task.md: its code is installed as a package, trained, stopped early, loaded and asked."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from helpers.caches import own_cache as own_cache
from helpers.command_line import polyseme, refusal
from helpers.packages import Install
from helpers.paths import ROOT

PAGE = (ROOT / "docs" / "your-own-task.md").read_text(encoding="utf-8")
TRAIN = {
    "sport": ("The team won the final match.", "She ran the race in record time.", "The player scored a late goal."),
    "music": ("The band played a slow song.", "He wrote a piece for the piano.", "The singer recorded a new album."),
}
DEV = {"sport": ("The coach praised the players.",), "music": ("The orchestra played a symphony.",)}


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture
def topics(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's package, installed, and files for it in the working folder."""
    about = tomllib.loads(block("toml"))["project"]
    install(about["name"], {"polyseme_topics": block("python")}, about["entry-points"])
    monkeypatch.chdir(tmp_path)
    for name, texts in (("train.tsv", TRAIN), ("dev.tsv", DEV)):
        lines = [f"{topic}\t{text}\n" for topic, those in texts.items() for text in those]
        Path(name).write_text("".join(lines), encoding="utf-8")


def test_it_has_fifty_lines() -> None:
    assert len([line for line in block("python").splitlines() if line]) <= 50


@pytest.mark.usefixtures("topics")
def test_the_commands_of_the_page_train_it_and_ask_it() -> None:
    train, predict = block("bash").splitlines()
    _, *arguments = train.split()
    scores = json.loads(polyseme(*arguments, "--quiet", "--json").stdout)
    assert scores["values"]["accuracy"] == 100
    assert re.fullmatch(r'polyseme task predict run "(.*)"', predict)
    asked = polyseme("task", "predict", "run", predict.split('"')[1]).stdout
    assert json.loads(asked) == {"tokens": ["The", "striker", "scored", "twice", "."], "topic": "sport"}
    assert json.loads(polyseme("task", "eval", "run", "dev.tsv", "--json").stdout) == {
        name: scores[name] for name in ("values", "classes", "confusion")
    }


def test_a_run_of_a_package_that_is_gone_says_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert "there is no task 'topics' to train; there are: ner," in refusal(
        "task", "train", "topics", "--data", str(tmp_path), "--out", str(tmp_path / "run")
    )
