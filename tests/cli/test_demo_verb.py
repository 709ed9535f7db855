"""polyseme demo, run to the end on a toy that is trained much shorter than usual."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import polyseme, toy_model

from polyseme.cli import demo as verb
from polyseme.cli.demo import SENSES, bundled_model, nearest
from polyseme.elmo import Elmo
from polyseme.embed import read
from polyseme.pretrain import toy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty working folder, a toy that is trained for a second, and no bundled model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        patch.setattr(verb, "bundled_model", lambda language: None)
        patch.setattr(toy, "TOKENS", 2000)
        yield Path()


@pytest.fixture(scope="module")
def demo(folder: Path) -> str:
    return polyseme("demo").stdout


def test_what_it_shows_and_leaves(demo: str) -> None:
    shown = [line.rstrip() for line in demo.splitlines()]
    assert max(map(len, shown)) <= 80
    assert "['Here', 'is', 'your', 'birthday', 'present', '.']" in shown
    assert "(6, 64)" in shown
    assert "(3, 6, 64)" in shown
    assert "This was a toy model." in demo
    texts = [sentence for senses in SENSES.values() for sentence, _ in senses]
    assert [record.text for record in read("demo-output/vectors.h5")] == texts
    for path in re.findall(r"demo-output/\S+(?= +[\d,]+ bytes)", demo):
        assert Path(path).is_file()
    assert Elmo.from_pretrained("demo-output/model").config.width == 64


def test_every_python_line_that_it_shows_gives_what_it_shows(demo: str) -> None:
    """What is printed below a prompt is what a new session, fed the same lines, would print."""
    sessions = re.findall(r"((?:^>>> .*\n(?:^\.\.\. .*\n)*)(?:^(?!>>>|\s*$|─).*\n)*)", demo, flags=re.MULTILINE)
    assert len(sessions) >= 9
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
    again = polyseme("demo").stdout
    assert [line for line in again.splitlines() if " s: " not in line] == [
        line for line in demo.splitlines() if " s: " not in line
    ]


def test_the_nearest_sentence_is_the_same_sentence() -> None:
    elmo = Elmo.from_pretrained(toy_model())
    others = ["The bank was wet.", "I have no money left in the bank.", "We sat on the bank of the river and fished."]
    found = nearest(elmo, others[2], "bank", others)
    assert found[0][1] == others[2]
    assert found[0][0] == pytest.approx(1, abs=1e-5)
    assert [cosine for cosine, _ in found] == sorted((cosine for cosine, _ in found), reverse=True)


def test_a_bundled_model_is_found_where_there_is_one() -> None:
    found = bundled_model("en")
    assert found is None or (found / "model.safetensors").is_file()
    assert bundled_model("xx") is None
