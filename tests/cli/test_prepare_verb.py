"""polyseme prepare, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from polyseme.cli import bars
from polyseme.cli.app import app

TEXT = "a b a\nc\n\na b d e\n"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("news.txt").write_text(TEXT)


def polyseme(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["prepare", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_it_prints_what_was_found_and_the_next_step() -> None:
    result = polyseme("news.txt", "--out", "corpus", "--lang", "whitespace", "--vocabulary-size", "5")
    assert result.stdout.splitlines() == [
        "tokens            8",
        "sentences         3, the longest of 4 tokens",
        "documents         2",
        "types             5",
        "vocabulary        5 words, 37.50% of the tokens unknown",
    ]
    assert result.stderr.startswith("next: polyseme pretrain corpus ")


def test_stats_of_a_folder_and_while_preparing_are_the_same() -> None:
    while_preparing = polyseme("news.txt", "--out", "corpus", "--lang", "whitespace", "--stats").stdout
    assert polyseme("corpus", "--stats").stdout == while_preparing
    assert while_preparing.splitlines()[5:] == [
        "coverage 30,000   100.00%",
        "coverage 50,000   100.00%",
        "coverage 100,000  100.00%",
        "coverage 200,000  100.00%",
        "mean length       2.7",
        "length 1 %        1",
        "length 5 %        1",
        "length 25 %       1",
        "length 50 %       3",
        "length 75 %       4",
        "length 95 %       4",
        "length 99 %       4",
        "length 100 %      4",
    ]


def test_json_is_the_description_of_the_corpus_and_its_statistics() -> None:
    result = polyseme("news.txt", "--out", "corpus", "--lang", "whitespace", "--stats", "--json", "--quiet")
    figures = json.loads(result.stdout)
    assert figures.pop("statistics")["lengths"]["50"] == 3
    stored = json.loads(Path("corpus/corpus.json").read_text())
    assert stored.pop("checksum")  # of the file itself
    assert figures == stored
    assert result.stderr == ""


def test_all_options_reach_the_job() -> None:
    Path("news.jsonl").write_text(json.dumps({"body": TEXT}))
    Path("words").write_text("<S>\n</S>\n<UNK>\nb\n")
    options = ["--lang", "whitespace", "--workers", "1", "--quiet", "--json"]
    given = polyseme("news.jsonl", "--field", "body", "--vocabulary", "words", "--out", "given", *options)
    assert json.loads(given.stdout)["vocabulary_size"] == 4
    counted = polyseme("news.txt", "--min-count", "3", "--out", "counted", *options)
    assert json.loads(counted.stdout)["vocabulary_size"] == 4


@pytest.mark.parametrize("arguments", [["news.txt"], ["news.txt", "--stats"], ["news.txt", "x.txt", "--stats"], []])
def test_without_a_place_to_write_it_is_wrong_use(arguments: list[str]) -> None:
    polyseme(*arguments, code=2)


def test_errors_are_one_sentence() -> None:
    Path("empty.txt").touch()
    result = polyseme("empty.txt", "--out", "corpus", code=1)
    assert result.stderr == "polyseme: there is no token in empty.txt; a corpus needs at least one sentence\n"
    assert not Path("corpus").exists()


def test_a_folder_that_is_no_corpus_is_refused() -> None:
    Path("other").mkdir()
    assert "other is not a prepared corpus" in polyseme("other", "--stats", code=1).stderr


def test_where_nobody_watches_lines_tell_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "LINE_SECONDS", 0.0)
    lines = polyseme("news.txt", "--out", "corpus", "--lang", "whitespace").stderr.splitlines()
    assert lines[0].startswith("reading: 100%, 8 tokens, ")
    assert lines[1].startswith("numbering: 100%, 8 tokens, ")
    assert polyseme("news.txt", "--out", "again", "--lang", "whitespace", "--quiet").stderr == ""
