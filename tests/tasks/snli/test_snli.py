"""Inference from a file to predictions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.small_runs import assert_it_learned, small_run
from helpers.toy_data import LABEL_OF_WORD, SUBJECTS, write_pairs
from polyseme.errors import InputError
from polyseme.settings import with_values
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.snli.task import TASK, Snli
from polyseme.tasks.trained_task import Task
from polyseme.text.tokenization import split_text


def test_a_word_that_tells_the_label_is_learned(tmp_path: Path) -> None:
    train, dev = write_pairs(tmp_path / "train.tsv", 6), write_pairs(tmp_path / "dev.tsv", 1)
    task, finished = small_run("snli", tmp_path, train, dev, hidden=20, epochs=8, rate=0.005, batch=6)
    assert_it_learned(finished, "accuracy", 90)
    assert task.evaluate(dev).values == finished.scores.values
    [found] = task.predict({"premise": "A dog barks.", "hypothesis": "It is no"})
    assert (found["label"], found["premise"]) == ("contradiction", "A dog barks.")
    assert set(found["probabilities"]) == set(LABEL_OF_WORD.values())
    assert task.predict("A dog barks.\tIt is no")[0] == found
    pairs = task.stream([{"sentence1": "A dog barks.", "sentence2": "It is no"}])
    assert "".join(TASK.write(pairs)) == "contradiction\tA dog barks.\tIt is no\n"
    [pair] = TASK.examples({"premise": "A dog\n\tbarks.", "hypothesis": "It is no"}, split_text)
    assert "".join(TASK.write([(pair, {"label": "neutral"})])) == "neutral\tA dog barks.\tIt is no\n"
    json.dumps(found)


def test_files_are_split_in_the_language_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, ...]] = []
    monkeypatch.setattr(Snli, "sentences", lambda self, pair: given.append(pair.tokens[0]) or pair.tokens[:1])
    path = write_pairs(tmp_path / "pairs.tsv", 1)
    small = {"elmo": "none", "static": "none", "characters": 4, "hidden": 4, "epochs": 1}
    preset = with_values(TASK.presets["cpu"], small, "a task")
    train_task(TaskPlan("snli", DataFiles(path, path), tmp_path / "run", preset, "cpu", lang="whitespace"))
    Task.load(tmp_path / "run").evaluate(path)
    assert set(given) == {tuple(text.split()) for text in SUBJECTS}  # "barks." is one token


def test_official_files_go_before_others_in_their_folder(tmp_path: Path) -> None:
    names = [
        "cad-train.tsv",
        "snli_1.0_train.tsv.xz",
        "snli_1.0_train.jsonl",
        "snli_1.0_dev.jsonl",
        "snli_1.0_test.txt",
    ]
    for name in names:
        (tmp_path / name).touch()
    found = TASK.find(tmp_path)
    assert found.test is not None
    assert [found.train.name, found.dev.name, found.test.name] == [names[1], names[3], names[4]]


def test_other_names_are_found_too(tmp_path: Path) -> None:
    for name in ("my-train.tsv", "my-valid.tsv"):
        (tmp_path / name).touch()
    assert TASK.find(tmp_path).dev.name == "my-valid.tsv"


def test_pairs_without_an_agreed_label_are_predicted_but_neither_trained_on_nor_scored(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("neutral\tA b\tC d\n-\tE f\tG h\n", encoding="utf-8")
    assert [pair.label for pair in TASK.read(path, split_text)] == ["neutral"]
    assert [pair.label for pair in TASK.read_to_predict(path, split_text)] == ["neutral", None]
    path.write_text("-\tE f\tG h\n", encoding="utf-8")
    with pytest.raises(InputError, match="no labelled pair"):
        TASK.read(path, split_text)


@pytest.mark.parametrize("item", ["one text", ["a", "b"], {"premise": "a"}, {"premise": "a", "hypothesis": " "}, 7])
def test_what_is_no_pair_is_refused(item: object) -> None:
    with pytest.raises(InputError, match="needs a premise and a hypothesis"):
        TASK.examples(item, split_text)
