"""polyseme demo, run to the end: with the bundled model, and with one that is given."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from helpers.command_line import polyseme, toy_model
from polyseme.cli import demo as verb
from polyseme.cli.app import help_and_examples
from polyseme.demo import study as findings
from polyseme.elmo import Elmo
from polyseme.embed import read
from polyseme.senses.shipped import DATA

FILES = ("senses.html", "senses.png", "sentences.txt", "vectors.h5")


def shorter(lang: str) -> list[str]:
    """Some lines of the shipped text: the others only take time."""
    lines = (DATA / f"text-{lang}.txt").read_text(encoding="utf-8").splitlines()
    return lines[-120:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        patch.setattr(findings, "text_lines", shorter)
        yield Path()


@pytest.fixture(scope="module")
def demo(folder: Path) -> str:
    return polyseme("demo").stdout


def test_what_it_shows_and_leaves(demo: str) -> None:
    shown = [line.rstrip() for line in demo.splitlines()]
    assert max(map(len, shown)) <= 80
    assert len(shown) <= 60  # one screen
    assert "['Here', 'is', 'your', 'b', '-', 'day', 'present', '.']" in shown
    assert f"(8, {Elmo.from_pretrained().config.width})" in shown
    records = [record.text for record in read("demo-output/vectors.h5")]
    assert records[:2] == ["Live in present not past.", "Here is your b-day present."]
    assert len(records) == 6
    assert all(any(record in line for line in shown) for record in records)
    assert "The proof: 60 words" in demo
    listed = re.findall(r"demo-output/(\S+)(?= +[\d,]+ bytes)", demo)
    assert all(Path("demo-output", name).is_file() for name in listed)
    assert set(listed) == set(FILES)


def test_every_python_line_that_it_shows_gives_what_it_shows(demo: str) -> None:
    """What is printed below a prompt is what a new session, fed the same lines, would print."""
    sessions = re.findall(r"((?:^>>> .*\n(?:^\.\.\. .*\n)*)(?:^(?!>>>|\s*$|─).*\n)*)", demo, flags=re.MULTILINE)
    assert len(sessions) >= 5
    names: dict[str, object] = {}
    for session in sessions:
        lines = session.splitlines()
        source = "\n".join(line[4:].rstrip() for line in lines if line.startswith((">>> ", "... ")))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "<shown>", "single"), names)
        if expected := printed.getvalue().strip():
            assert expected in session


def test_it_can_be_run_again_in_the_same_folder(demo: str) -> None:
    assert polyseme("demo").stdout == demo


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_the_same_in_korean_and_chinese(folder: Path, lang: str) -> None:
    shown = polyseme("demo", "--lang", lang).stdout
    assert max(cell_len(line.rstrip()) for line in shown.splitlines()) <= 80
    for record in read(Path("demo-output", lang, "vectors.h5")):
        assert record.text in shown
    assert {path.name for path in Path("demo-output", lang).iterdir()} == set(FILES)


def test_its_examples_run(folder: Path) -> None:
    """The first is what all these tests look at; with the toy in place of the bundled model, the second."""
    _, *rest = re.findall(r"polyseme (demo.*)", help_and_examples(verb.demo)[1])
    (example,) = rest
    polyseme(*shlex.split(example), "--model", str(toy_model()))
    assert {path.name for path in Path("first-look").iterdir()} == set(FILES)


def test_without_matplotlib_it_says_what_is_missing_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = polyseme("demo", "--model", str(toy_model()), "--out", "no-picture").stdout
    assert "pip install 'polyseme[plots]'" in " ".join(shown.split())
    assert {path.name for path in Path("no-picture").iterdir()} == set(FILES) - {"senses.png"}


def test_a_language_that_it_does_not_speak() -> None:
    assert "en, ko, zh" in polyseme("demo", "--lang", "xx", code=2).stderr
