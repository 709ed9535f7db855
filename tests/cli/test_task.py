"""polyseme task train, eval and predict, as a user sees them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import interrupt, parse, polyseme, read_until, refusal, signals, start, toy_model
from helpers.golden import apart, golden
from helpers.toy_names import write_names
from polyseme.cli.app import GROUPS, help_and_examples
from polyseme.tasks.inputs import InputChoices

VERBS = GROUPS["task"][1]
EXAMPLES = {name: re.findall(r"polyseme (.*)", help_and_examples(verb)[1]) for name, verb in VERBS.items()}
SMALL = "--vectors none --characters 8 --set hidden=8 --set epochs=6 --set batch=4 --set rate=0.02 --set dropout=0.1"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that the examples name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    write_names(Path("names"))
    (tmp_path / "names" / "test.txt").write_text("Eve\tB-PER\nleft\tO\nRome\tB-LOC\n", encoding="utf-8")
    (tmp_path / "sentences.txt").write_text("Ada saw new Oslo .\n\nBob left .\n", encoding="utf-8")
    return tmp_path


def run(example: str) -> str:
    """An example, made shorter; the toy stands in for the bundled model."""
    words = shlex.split(example)
    if words[1] == "train":
        words += ["--model", str(toy_model()), *shlex.split(SMALL.replace("--set hidden=8", ""))]
    return polyseme(*words).stdout


@pytest.mark.usefixtures("files")
def test_the_examples_run_one_after_the_other() -> None:
    for example in EXAMPLES["train"]:
        lines = run(example).splitlines()
        assert lines[0].split("\t") == ["class", "precision", "recall", "f1", "support"]
        assert [line.split("\t")[0] for line in lines[1:]] == ["all", "LOC", "PER"]
    first, second = (run(example) for example in EXAMPLES["eval"])
    assert first.splitlines()[1].startswith("all\t")
    assert json.loads(second)["classes"]["PER"]["support"] == 1
    assert Path("confusion.png").read_bytes().startswith(b"\x89PNG")
    first, second = (run(example) for example in EXAMPLES["predict"])
    assert set(json.loads(first.splitlines()[0])) == {"text", "sentences"}
    assert second == ""
    predicted = Path("predicted.txt").read_text(encoding="utf-8").split("\n\n")
    assert [len(block.splitlines()) for block in predicted[:2]] == [5, 3]
    _every_kind_of_input()


def test_weights_and_options_in_two_folders_are_found_again(files: Path) -> None:
    weights, options = apart(golden("bilm-tf-generated/inference/skip2_relu"), files)
    command = ["task", "train", "ner", "--data", "names", "--out", "run", "--budget", "cpu", *shlex.split(SMALL)]
    polyseme(*command, "--model", str(weights), "--options", str(options))
    noted = polyseme("task", "eval", "run", "names/test.txt").stdout
    weights, options = weights.rename(files / "moved.hdf5"), options.rename(files / "moved.json")
    assert "--model" in refusal("task", "eval", "run", "names/test.txt")
    moved = ["--model", str(weights), "--options", str(options)]
    assert polyseme("task", "eval", "run", "names/test.txt", *moved).stdout == noted


def _every_kind_of_input() -> None:
    """The same sentence as text, as tokens, as JSON and in the task's own format."""
    Path("a.jsonl").write_text('["Ada", "left", "."]\n{"tokens": ["Ada", "left", "."]}\n', encoding="utf-8")
    Path("a.iob2").write_text("Ada\tO\nleft\tO\n.\tO\n", encoding="utf-8")
    printed = [
        polyseme("task", "predict", "run", "Ada left .").stdout,
        polyseme("task", "predict", "run", "Ada left .", "--kind", "tokens").stdout,
        polyseme("task", "predict", "run", '{"text": "Ada left ."}', "--kind", "jsonl").stdout,
        *polyseme("task", "predict", "run", "a.jsonl").stdout.splitlines(keepends=True),
        polyseme("task", "predict", "run", "a.iob2").stdout,
    ]
    assert len(printed) == 6
    assert len({tuple(names_in(json.loads(line))) for line in printed}) == 1
    assert [json.loads(line).get("line") for line in printed[3:5]] == [1, 2]
    Path("bad.jsonl").write_text('["Ada"]\n\n["Ada", "left\\t"]\n', encoding="utf-8")
    assert "bad.jsonl, line 3: token 1 is" in refusal("task", "predict", "run", "bad.jsonl")
    _what_names_a_file()


def names_in(record: dict[str, Any]) -> list[str]:
    """The tokens, and what was found in them."""
    (sentence,) = record.get("sentences", [record])
    return [*sentence["tokens"], *(entity["text"] for entity in sentence["entities"])]


def _what_names_a_file() -> None:
    """Columns in a .txt are read as columns; a folder or a missing file is never taken for a text."""
    Path("columns.txt").write_text("Ada\tO\nleft\tO\n.\tO\n\n" * 2, encoding="utf-8")
    Path("one line.txt").write_text("his blood is O\n", encoding="utf-8")
    Path("long.txt").write_text("Ada\tU-PER\nnew\tB-LOC\nRome\tL-LOC\n\n" * 99 + "left\n", encoding="utf-8")
    columns = polyseme("task", "predict", "run", "columns.txt").stdout.splitlines()
    assert [json.loads(line)["tokens"] for line in columns] == [["Ada", "left", "."]] * 2
    first, *_ = polyseme("task", "predict", "run", "columns.txt", "--kind", "text").stdout.splitlines()
    assert json.loads(first)["sentences"][0]["tokens"] == ["Ada", "O"]
    [line] = polyseme("task", "predict", "run", "one line.txt").stdout.splitlines()
    assert len(json.loads(line)["sentences"][0]["tokens"]) == 4
    assert "long.txt, line 397" in refusal("task", "predict", "run", "long.txt")
    assert "names is a folder" in refusal("task", "predict", "run", "names")
    assert "standard input (-)" in refusal("task", "predict", "run", "names/tset.bio")
    assert "the text is not JSON" in refusal("task", "predict", "run", '{"text": "Ada"', "--kind", "jsonl")
    assert "nowhere/a.txt cannot be used: no such file" in refusal(
        "task", "predict", "run", "Ada", "--out", "nowhere/a.txt"
    )
    polyseme(
        "task", "predict", "run", "Ada left . " * 500, "--out", "predicted.txt", "--overwrite"
    )  # too long for a file's name
    before = Path("columns.txt").read_bytes()
    assert "another file" in refusal("task", "predict", "run", "columns.txt", "--out", "columns.txt")
    assert Path("columns.txt").read_bytes() == before


@pytest.mark.parametrize("name", VERBS)
def test_help_ends_with_two_examples_that_parse(name: str) -> None:
    assert len(EXAMPLES[name]) == 2
    shown = " ".join(polyseme("task", name, "--help").stdout.split())
    assert shown.endswith("Examples: " + " ".join(f"polyseme {example}" for example in EXAMPLES[name]))
    for example in EXAMPLES[name]:
        assert parse(f"polyseme {example}").params


def test_every_choice_of_the_inputs_has_a_flag() -> None:
    others = {
        "mix_penalty": "lambda",
        "finetune": "finetune-bilm",
        "static": "vectors",
        "word_vectors": "train-vectors",
    }
    shown = polyseme("task", "train", "--help").stdout
    for flag in (others.get(field.name, field.name.replace("_", "-")) for field in fields(InputChoices)):
        assert f"--{flag}" in shown


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("train parsing --data names --out run", "parsing"),
        ("train ner --data nowhere --out run", "nowhere"),
        ("train ner --data . --out run", "'train'"),
        ("train ner --data names --out run --set colour=1", "colour"),
        ("train ner --data names --out run --set hidden", "key=value"),
        ("train ner --data names --out run --set hidden=many", "hidden"),
        ("train ner --data names --out run --layers top", "all, last"),
        ("train ner --data names --out run --model nowhere.zip", "nowhere.zip"),
        ("train ner --data names --out run --elmo none --vectors nowhere.txt", "nowhere.txt"),
        ("train ner --data names --dev sentences.txt --elmo none --vectors none --out run", "sentences.txt"),
        ("eval names names/test.txt", "run.json"),
        ("predict nowhere text", "nowhere"),
    ],
)
def test_failed_in_one_sentence(arguments: str, named: str) -> None:
    quiet = ["--quiet"] if arguments.startswith("train") else []
    assert named in refusal("task", *shlex.split(arguments), *quiet)


@pytest.mark.parametrize(
    "arguments",
    [
        "train",
        "train ner --out run",
        "train ner --data names",
        "train ner --data names --out run --elmo top",
        "predict run",
        "frobnicate",
    ],
)
def test_wrong_use(arguments: str) -> None:
    result = polyseme("task", *shlex.split(arguments), code=2)
    assert "Usage: polyseme task" in result.stderr


@signals
@pytest.mark.slow
def test_ctrl_c_is_130_and_the_run_goes_on(files: Path) -> None:
    command = ["task", "train", "ner", "--data", "names", "--out", "run", "--elmo", "none", "--budget", "cpu"]
    command += [*shlex.split(SMALL), "--set", "epochs=100000", "--set", "patience=100000"]
    process = start(*command, cwd=files)
    read_until(process, "epoch 2")
    assert "--resume" in interrupt(process)
    again = [word.replace("epochs=100000", "epochs=3") for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "polyseme", *again, "--resume"], cwd=files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
