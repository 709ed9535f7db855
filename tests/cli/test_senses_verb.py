"""polyseme senses, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.command_line import polyseme, refusal
from helpers.running_server import SENTENCES
from polyseme.cli import senses as senses_verb
from polyseme.elmo import Elmo
from polyseme.index.vector_index import Index
from polyseme.senses.sense_map import SenseMap


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path


def test_json_has_every_group_with_its_sentences(text: Path) -> None:
    told = json.loads(polyseme("senses", "bank", "--in", str(text), "--json").stdout)
    expected = SenseMap.of(Elmo.from_pretrained("en"), "bank", SENTENCES)
    assert told["total"] == expected.total
    assert [group["names"] for group in told["groups"]] == [list(group.names) for group in expected.groups]
    marked = [one["marked"] for group in told["groups"] for one in group["occurrences"]]
    assert marked == [one.marked for group in expected.groups for one in group.occurrences]


def test_in_a_pipe_a_line_for_each_occurrence(text: Path) -> None:
    head, *lines = polyseme("senses", "bank", "--in", str(text)).stdout.splitlines()
    assert head.split("\t") == ["group", "share", "names", "sentence", "source", "document"]
    assert len(lines) == SenseMap.of(Elmo.from_pretrained("en"), "bank", SENTENCES).total


def test_on_a_terminal_the_groups_and_their_clearest_sentences(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senses_verb, "on_terminal", lambda: True)
    shown = polyseme("senses", "bank", "--in", str(text)).stdout
    assert shown.startswith("bank: ") and "ways" in shown and "%" in shown


def test_a_page_and_a_picture(text: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "bank.html", tmp_path / "bank.png"
    polyseme("senses", "bank", "--in", str(text), "--html", str(page), "--out", str(picture))
    written = page.read_text(encoding="utf-8")
    assert written.count("<circle") == SenseMap.of(Elmo.from_pretrained("en"), "bank", SENTENCES).total
    assert "<b>bank</b>" in written and "http" not in written
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_long_group_says_how_many_more_it_has(tmp_path: Path) -> None:
    text, page = tmp_path / "many.txt", tmp_path / "bank.html"
    text.write_text("".join(f"She has {number} accounts at the bank.\n" for number in range(15)), encoding="utf-8")
    polyseme("senses", "bank", "--in", str(text), "--html", str(page), "--quiet")
    assert "and 3 more" in page.read_text(encoding="utf-8")


def test_a_word_that_is_not_there_is_refused_with_what_to_do(text: Path) -> None:
    assert "expected a word" in polyseme("senses", " ", code=2).stderr
    assert "2 tokens, river bank; ask for one" in polyseme("senses", "river bank", "--in", str(text), code=1).stderr
    assert "'zyxw' does not occur in the small text" in polyseme("senses", "zyxw", code=1).stderr
    assert "name a text of your own with --in, or try --model ko" in polyseme("senses", "은행", code=1).stderr


def test_an_index_is_asked_too(tmp_path: Path) -> None:
    elmo = Elmo.from_pretrained("en")
    text, folder = tmp_path / "few.txt", tmp_path / "index"
    text.write_text("The bank lends money.\nThe river bank was muddy.\n", encoding="utf-8")
    Index.build(elmo, text, folder, model="en")
    told = json.loads(polyseme("senses", "bank", "--in", str(folder), "--json").stdout)
    assert told["total"] == 2 and len(told["groups"]) == 1


def test_what_cannot_be_is_said_in_a_sentence(text: Path) -> None:
    assert "'zebra' does not occur in" in refusal("senses", "zebra", "--in", str(text))
    polyseme("senses", "bank", "--in", str(text), "--out", "bank.jpg", code=2)
