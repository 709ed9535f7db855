"""Inference from a file to predictions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tasks.small_runs import assert_it_learned, small_run

from polyseme.errors import InputError
from polyseme.tasks.snli import TASK
from polyseme.text.tokenization import split_text

ANSWERS = {"yes": "entailment", "no": "contradiction", "perhaps": "neutral"}
SUBJECTS = ["A dog barks.", "Two men sit in a boat", "The sun is up."]


def write_pairs(path: Path, times: int) -> Path:
    rows = [f"{label}\t{subject}\tIt is {word}" for subject in SUBJECTS for word, label in ANSWERS.items()]
    path.write_text("\n".join(rows * times))
    return path


def test_a_word_that_tells_the_label_is_learned(tmp_path: Path) -> None:
    train, dev = write_pairs(tmp_path / "train.tsv", 6), write_pairs(tmp_path / "dev.tsv", 1)
    task, finished = small_run("snli", tmp_path, train, dev, hidden=20, epochs=8, rate=0.005, batch=6)
    assert_it_learned(finished, "accuracy", 90)
    assert task.evaluate(dev).values == finished.scores.values
    [found] = task.predict({"premise": "A dog barks.", "hypothesis": "It is no"})
    assert (found["label"], found["premise"]) == ("contradiction", "A dog barks.")
    assert set(found["probabilities"]) == set(ANSWERS.values())
    assert task.predict("A dog barks.\tIt is no")[0] == found
    pairs = task.stream([{"sentence1": "A dog barks.", "sentence2": "It is no"}])
    assert "".join(TASK.write(pairs)) == "contradiction\tA dog barks.\tIt is no\n"
    json.dumps(found)


@pytest.mark.parametrize("item", ["one text", ["a", "b"], {"premise": "a"}, {"premise": "a", "hypothesis": " "}, 7])
def test_what_is_no_pair_is_refused(item: object) -> None:
    with pytest.raises(InputError, match="needs a premise and a hypothesis"):
        TASK.examples(item, split_text)
