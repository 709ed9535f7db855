"""polyseme task train, eval and predict for the tasks whose input is more than a sentence, in their own formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.command_line import polyseme, refusal, toy_model
from helpers.toy_data import write_documents, write_pairs, write_roles, write_squad
from polyseme.tasks.coref.data import read_coref
from polyseme.tasks.squad.data import read_squad
from polyseme.tasks.srl.data import read_srl
from polyseme.text.tokenization import split_text

pytest.importorskip("scipy")

#: By task: how its files are made, their suffix, sizes, what to ask, and what a record then holds.
TASKS: dict[str, tuple[Callable[[Path], Path], str, str, str, set[str]]] = {
    "snli": (
        lambda path: write_pairs(path, 1),
        "tsv",
        "hidden=4",
        "A dog barks.\tIt barks.",
        {"premise", "hypothesis", "label", "probabilities"},
    ),
    "squad": (
        lambda path: write_squad(path, 4, 0),
        "json",
        "hidden=4 paragraphs=1.0",
        "Ada likes Rome.\tWho likes Rome?",
        {"question", "answer", "start", "end", "probability"},
    ),
    "srl": (
        lambda path: write_roles(path, 1),
        "props",
        "hidden=4 depth=2 predicate_dim=2 detector=3",
        "Ada sees Bob.",
        {"text", "sentences"},
    ),
    "coref": (
        lambda path: write_documents(path, 3, 0),
        "conll",
        "hidden=4 scorer=4 feature=2 widest=3",
        "Ada left. Ada came.",
        {"sentences", "chains"},
    ),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_from_its_files_to_its_own_format(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    make, suffix, sizes, asked, fields = TASKS[task]
    train, dev = (make(tmp_path / f"{split}.{suffix}") for split in ("train", "dev"))
    run = str(tmp_path / "run")
    changes = [word for change in f"{sizes} epochs=1 share=1.0".split() for word in ("--set", change)]
    small = ["--budget", "cpu", "--vectors", "none", "--characters", "4", "--model", str(toy_model()), *changes]
    trained = polyseme("task", "train", task, "--data", str(tmp_path), "--out", run, "--elmo", "both", "--json", *small)
    scored = polyseme("task", "eval", run, str(dev), "--json")
    assert json.loads(scored.stdout)["values"] == json.loads(trained.stdout)["values"]
    record = json.loads(polyseme("task", "predict", run, asked).stdout.splitlines()[0])
    assert set(record) == fields
    written = tmp_path / f"predicted.{suffix}"
    polyseme("task", "predict", run, str(dev), "--format", "task", "--out", str(written))
    if task == "snli":
        assert [line.split("\t")[1:] for line in written.read_text().splitlines()] == [
            line.split("\t")[1:] for line in train.read_text().splitlines()
        ]
    elif task == "squad":
        assert set(json.loads(written.read_text())) == {question.id for question in read_squad(dev, split_text)}
    elif task == "srl":
        assert _predicates(written) == _predicates(dev)
    else:
        assert [d.sentences for d in read_coref(written)] == [d.sentences for d in read_coref(dev)]
        (tmp_path / "folder").mkdir()
        dev.rename(tmp_path / "folder" / "dev.conll")
        of_folder = polyseme("task", "predict", run, str(tmp_path / "folder"), "--format", "task").stdout
        assert of_folder == written.read_text()
        document, _, _ = (tmp_path / "folder" / "dev.conll").read_text().partition("#end document\n")
        (tmp_path / "long.txt").write_text(document * 20 + "#end document\n")
        assert "line 27 begins a document before" in refusal("task", "predict", run, str(tmp_path / "long.txt"))


def _predicates(path: Path) -> list[tuple[tuple[str, ...], list[int]]]:
    return [(one.words, [frame.predicate for frame in one.frames]) for one in read_srl(path)]
