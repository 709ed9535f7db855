"""Coreference from a file to chains."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.small_runs import assert_it_learned, small_run
from helpers.toy_data import write_documents
from polyseme.errors import InputError
from polyseme.tasks.coref.data import read_coref
from polyseme.tasks.coref.task import TASK
from polyseme.text.tokenization import split_text

pytest.importorskip("scipy")


def test_names_are_linked(tmp_path: Path) -> None:
    train, dev = write_documents(tmp_path / "train.conll", 24, 0), write_documents(tmp_path / "dev.conll", 6, 1)
    sizes = {"hidden": 10, "scorer": 12, "feature": 4, "widest": 3, "input_dropout": 0.0}
    task, finished = small_run("coref", tmp_path, train, dev, **sizes, epochs=10, rate=0.01, batch=2)
    assert_it_learned(finished, "conll", 80)
    assert task.evaluate(dev).values == finished.scores.values

    [found] = task.predict("Ada sleeps here. Bob sleeps here. Ada sleeps here.")
    assert [len(sentence) for sentence in found["sentences"]] == [4, 4, 4]
    texts = [{mention["text"] for mention in chain} for chain in found["chains"]]
    assert {"Ada"} in texts
    written = tmp_path / "predicted.conll"
    written.write_text("".join(TASK.write(task.answer(TASK.read(dev, split_text)))))
    assert [document.words for document in read_coref(written)] == [document.words for document in read_coref(dev)]


def test_texts_sentences_and_tokens_are_documents() -> None:
    [document] = TASK.examples({"text": "Go. Stop.", "id": "x"}, split_text)
    assert (document.name, document.sentences) == ("x", (("Go", "."), ("Stop", ".")))
    [document] = TASK.examples({"sentences": [["Go", "."], ["Stop"]]}, split_text)
    assert document.sentences == (("Go", "."), ("Stop",))
    for item in (["Go", "."], {"tokens": ["Go", "."]}):
        [document] = TASK.examples(item, split_text)
        assert document.sentences == (("Go", "."),)


def test_new_documents_are_written_as_parts_of_their_name(tmp_path: Path) -> None:
    items = ["Go.", {"text": "Ada sleeps.", "id": "x"}, "Stop.", {"text": "Bob sleeps.", "id": "x"}]
    pairs = [(document, []) for item in items for document in TASK.examples(item, split_text)]
    written = tmp_path / "a.conll"
    written.write_text("".join(TASK.write(pairs)))
    found = read_coref(written)
    assert [(document.name, document.part) for document in found] == [("-", 0), ("x", 0), ("-", 1), ("x", 1)]
    assert "".join(TASK.write((document, []) for document in found[2:])) in written.read_text()


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (3, "expected a text"),
        ({"x": 1}, "expected a text"),
        ([["a"], "b"], "expected a text"),
        ({"sentences": [[1]]}, "expected a text"),
        ([["a"], []], "at least one token"),
        ([["a"], ["b", ""]], "token 1 is"),
        ({"id": "a\tb", "text": "Go."}, "the id .* must not contain a tab"),
    ],
)
def test_what_is_no_document_is_refused(item: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        TASK.examples(item, split_text)
