"""polyseme tag: texts, files and pipes; JSON, columns and a page; one sentence where a task model is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from helpers.command_line import polyseme, refusal, toy_model
from helpers.toy_names import write_names
from polyseme.cli.tag_output import tag_lines
from polyseme.tasks.bundled_tasks import bundled_tasks


@pytest.mark.slow
def test_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    write_names(tmp_path / "names")
    small = "--vectors none --characters 8 --set hidden=8 --set epochs=6 --set batch=4 --set rate=0.02 --lang en"
    polyseme("task", "train", "ner", "--data", "names", "--out", "run", "--model", str(toy_model()), *small.split())
    found = json.loads(polyseme("tag", "Ada left . Bob saw new Rome .", "--task", "run", "--json").stdout)
    assert [len(sentence["tokens"]) for sentence in found["sentences"]] == [3, 5]
    Path("texts.jsonl").write_text(
        '{"body": "Ada left ."}\n{"body": ""}\n{"body": "Bob saw Rome ."}\n', encoding="utf-8"
    )
    lines = polyseme("tag", "texts.jsonl", "--field", "body", "--task", "run", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["0", "1", "2"]
    header, *rows = polyseme("tag", "Ada left .", "--task", "run").stdout.splitlines()
    assert header.split("\t")[2:5] == ["token", "start", "end"]
    assert [row.split("\t")[2] for row in rows] == ["Ada", "left", "."]
    polyseme("tag", "Ada left .", "--task", "run", "--html", "page.html")
    assert "<mark" in Path("page.html").read_text(encoding="utf-8")


def test_what_is_not_in_the_box_says_what_to_do() -> None:
    assert "no task model xx/ner is bundled" in refusal("tag", "Ada left .", "--task", "ner", "--lang", "xx")
    assert "polyseme task train pos --data DIR --out RUN" in refusal("tag", "Ada .", "--task", "pos", "--lang", "xx")
    unknown = refusal("tag", "Ada .", "--task", "foo", "--lang", "xx")
    assert "foo is no task; the tasks are ner," in unknown and "task train foo" not in unknown


@pytest.mark.skipif("en/ner" not in bundled_tasks(), reason="no task model is bundled")
def test_a_file_of_the_task_is_not_taken_for_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test.txt").write_text("Ada\tB-PER\nleft\tO\n.\tO\n\nBob\tB-PER\nsaw\tO\nRome\tB-LOC\n.\tO\n")
    said = refusal("tag", "test.txt", "--task", "ner")
    assert "test.txt is in the format of the task ner, not text; use polyseme task predict RUN FILE" in said
    assert "B-PER" in polyseme("tag", "test.txt", "--task", "ner", "--kind", "txt").stdout


def test_a_token_and_its_tag_stand_on_one_line_of_a_terminal() -> None:
    tokens = ["한국어", "긴", "문장", "."] * 4
    lines = tag_lines({"tokens": tokens, "tags": ["NOUN"] * 16}, 30).plain.splitlines()
    assert [pair for line in lines for pair in line.strip().split("  ")] == [f"{token} NOUN" for token in tokens]
    assert all(cell_len(line) <= 30 for line in lines)
