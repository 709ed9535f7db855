"""polyseme index and polyseme neighbours, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.command_line import polyseme, toy_model
from helpers.golden import apart, golden
from polyseme import Index
from polyseme.cli import neighbours as verb
from polyseme.cli.printing import word_in_text
from polyseme.errors import ConfigError
from polyseme.pretrain.toy import TOY_TEXT
from polyseme.serve.served import load_models

MARKED = "He rowed the boat to the [bank]."


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.chdir(tmp_path)
    said = polyseme("index", str(TOY_TEXT), "--out", "index", "--model", str(toy_model()), "--layers", "0,2").stderr
    assert "988 tokens of 100 sentences" in said
    assert "next: polyseme neighbours index" in said
    return Index.open("index")


def test_as_lines_json_and_table(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = index.neighbours(MARKED, k=3)
    header, *lines = polyseme("neighbours", "index", MARKED, "-k", "3").stdout.splitlines()
    assert header == "similarity\tword\tsentence\tsource\tdocument"
    assert [line.split("\t")[1:3] for line in lines] == [[one.word, one.marked] for one in expected]
    assert [float(line.split("\t")[0]) for line in lines] == pytest.approx([one.similarity for one in expected], 1e-4)

    told = json.loads(polyseme("neighbours", "index", MARKED, "-k", "3", "--json").stdout)
    assert [one["marked"] for one in told] == [one.marked for one in expected]
    assert [one["row"] for one in told] == [one.row for one in expected]
    assert told[0]["tokens"][told[0]["position"]] == told[0]["word"]

    monkeypatch.setattr(verb, "on_terminal", lambda: True)
    shown = " ".join(polyseme("neighbours", "index", MARKED, "-k", "3").stdout.split())
    assert f"{expected[0].similarity:.3f}" in shown
    assert expected[0].word in shown


def test_an_index_of_a_released_model_starts_warm_and_is_asked_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(f"{MARKED.replace('[', '').replace(']', '')}\n", encoding="utf-8")
    polyseme("index", "text.txt", "--out", "index", "--model", str(toy_model()), "--state", "warm", "--device", "cpu")
    assert Index.open("index").elmo.state == "warm"
    (nearest,) = json.loads(polyseme("neighbours", "index", MARKED, "-k", "1", "--json").stdout)
    assert (nearest["word"], nearest["similarity"]) == ("bank", pytest.approx(1.0, abs=1e-3))


def test_weights_and_options_in_two_folders_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weights, options = apart(golden("bilm-tf-generated/inference/skip2_relu"), tmp_path)
    Path("text.txt").write_text("He rowed the boat to the bank .\n", encoding="utf-8")
    files = ("--model", str(weights.relative_to(tmp_path)), "--options", str(options.relative_to(tmp_path)))
    polyseme("index", "text.txt", "--out", "index", *files)
    for given in ((), files):
        (nearest,) = json.loads(polyseme("neighbours", "index", MARKED, "-k", "1", "--json", *given).stdout)
        assert (nearest["word"], nearest["similarity"]) == ("bank", pytest.approx(1.0, abs=1e-3))
    (model,) = load_models([str(weights)], ["index"], options=str(options))
    assert model.index_state == "ready"
    with pytest.raises(ConfigError, match="--options belongs to one model"):
        load_models([str(weights), "en"], [], options=str(options))


def test_options(index: Index) -> None:
    arguments = ("neighbours", "index", MARKED, "--same-word", "--layer", "0", "--json")
    told = json.loads(polyseme(*arguments, "--model", str(toy_model())).stdout)
    assert {one["word"].lower() for one in told} == {"bank"}
    assert [one["row"] for one in told] == [one.row for one in index.neighbours(MARKED, layer=0, same_word=True)]
    assert "layer 1 is not in this index" in polyseme("neighbours", "index", MARKED, "--layer", "1", code=1).stderr


def test_a_word_that_is_not_there_is_said_to_be_so(index: Index) -> None:
    arguments = ("neighbours", "index", "Here is a [zeppelin].", "--same-word")
    for options, printed in (((), ""), (("--json",), "[]\n")):
        found = polyseme(*arguments, *options)
        assert (found.stdout, found.stderr) == (printed, "the word in brackets does not occur in index\n")


def test_an_unfinished_index_is_not_overwritten(index: Index) -> None:
    said = polyseme("index", str(TOY_TEXT), "--out", "index", "--model", str(toy_model()), code=1).stderr
    assert "index already exists" in said
    arguments = ("index", str(TOY_TEXT), "--out", "index", "--model", str(toy_model()), "--layers", "0,2", "--resume")
    assert polyseme(*arguments, "--quiet").stderr == ""


def test_a_long_sentence_is_cut_around_the_word() -> None:
    shown = word_in_text("a" * 100 + "bank" + "b" * 100, (100, 104))
    assert shown.plain == "…" + "a" * 50 + "bank" + "b" * 50 + "…"
    assert [(shown.plain[span.start : span.end], str(span.style)) for span in shown.spans] == [("bank", "cyan")]
