"""Semantic roles from a file to frames, with predicates given and found."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.small_runs import assert_it_learned, small_run
from helpers.srl_files import CONLL_2005, CONLL_2012
from helpers.toy_data import write_roles
from polyseme.errors import InputError
from polyseme.tasks.srl.data import read_srl
from polyseme.tasks.srl.task import TASK, SrlExample
from polyseme.text.tokenization import split_text


def test_roles_and_predicates_are_learned(tmp_path: Path) -> None:
    train, dev = write_roles(tmp_path / "train.props", 12), write_roles(tmp_path / "dev.props", 1)
    sizes = {"hidden": 16, "depth": 2, "predicate_dim": 4, "detector": 16}
    task, finished = small_run("srl", tmp_path, train, dev, **sizes, epochs=2, rate=0.02, batch=4)
    assert_it_learned(finished, "f1", 90)
    assert finished.scores.values["predicate_f1"] >= 90
    assert set(finished.scores.classes) >= {"A0", "A1"}
    assert (tmp_path / "run" / "confusion.png").exists()
    assert task.evaluate(dev).values == finished.scores.values

    [found] = task.predict("Ada sees the old Bob.")[0]["sentences"]
    [frame] = found["frames"]
    assert (found["tokens"][frame["predicate"]], frame["word"]) == ("sees", "sees")
    names = ("role", "start", "end", "text", "start_char", "end_char")
    assert ("A1", 2, 5, "the old Bob", 9, 20) in [tuple(map(role.get, names)) for role in frame["roles"]]
    [given] = task.predict({"tokens": ["Ada", "sees", "the", "old", "Bob", "."], "predicates": [1]})
    assert [role["role"] for role in given["frames"][0]["roles"]] == [role["role"] for role in frame["roles"]]

    written = tmp_path / "predicted.props"
    written.write_text("".join(TASK.write(task.stream(["Ada sees the old Bob. Yes!"]))))
    assert [sentence.words for sentence in read_srl(written)][1] == ("Yes", "!")
    written.write_text("".join(TASK.write(task.answer(TASK.read(dev, split_text)))))
    assert [sentence.words for sentence in read_srl(written)] == [s.words for s in read_srl(dev)]
    if finished.scores.values["f1"] == 100:
        assert written.read_text() == dev.read_text()


@pytest.mark.parametrize("text", [CONLL_2005, CONLL_2012, CONLL_2005 + "\n\n"])
def test_a_file_is_written_back_byte_by_byte(tmp_path: Path, text: str) -> None:
    """Also the lines behind its last sentence, such as CoNLL-2012's #end document."""
    (tmp_path / "a.props").write_text(text)
    examples = TASK.read(tmp_path / "a.props", split_text)
    found = [
        {"frames": [{"predicate": f.predicate, "spans": f.spans} for f in one.gold.frames]}
        for one in examples
        if one.gold is not None
    ]
    assert "".join(TASK.write(zip(examples, found, strict=True))) == text


def test_roles_are_confused_in_the_same_place_and_without_the_predicate(tmp_path: Path) -> None:
    (tmp_path / "a.props").write_text(CONLL_2005)
    example, *_ = TASK.read(tmp_path / "a.props", split_text)
    frames = [
        {"predicate": 2, "spans": [("A1", 0, 2), ("V", 2, 3), ("A1", 4, 5)]},
        {"predicate": 4, "spans": [("V", 4, 5)]},
    ]
    confusion = TASK.score([{"frames": frames, "detected": [2, 4]}], [example]).confusion
    assert confusion is not None
    assert (confusion.labels, confusion.counts) == (["A0", "A1", "O"], [[0, 1, 1], [0, 1, 0], [0, 0, 0]])


def test_predicates_may_be_given_or_not() -> None:
    assert TASK.examples(["a", "b"], split_text) == [SrlExample(("a", "b"), None, None)]
    assert TASK.examples({"text": "Go. Stop."}, split_text) == [
        SrlExample(("Go", "."), None, None),
        SrlExample(("Stop", "."), None, None),
    ]
    assert TASK.examples({"tokens": ["a", "b"], "predicates": [1, 1]}, split_text) == [
        SrlExample(("a", "b"), (1,), None)
    ]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"tokens": ["a"], "predicates": [1]}, "token numbers from 0 to 0"),
        ({"tokens": ["a", "b"], "predicates": [True]}, "token numbers from 0 to 1"),
        ({"text": "a b", "predicates": [1]}, 'needs "tokens", not a text'),
        ({"predicates": [1]}, 'needs "tokens"'),
        ([], "at least one token"),
        (["a", ""], "token 1 is"),
        (3, "expected a text, or a list of tokens"),
    ],
)
def test_what_is_no_sentence_is_refused(item: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        TASK.examples(item, split_text)
