"""CoNLL-U tags, and the tagger on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.paths import DATA, needs
from polyseme.errors import InputError
from polyseme.settings import with_values
from polyseme.tasks.data_files import find_data
from polyseme.tasks.pos.task import TASK, PosSentence, read_tags
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.trained_task import Task
from polyseme.text.tokenization import split_text

CONLLU = """\
# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

1\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_
"""


def test_words_and_tags(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(CONLLU, encoding="utf-8")
    found = TASK.read(tmp_path / "a.conllu", split_text)
    assert found == [PosSentence(("do", "n't"), ("AUX", "PART")), PosSentence(("#",), ("SYM",))]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    pairs = [(PosSentence(("do", "n't")), ["AUX", "PART"]), (PosSentence(("#",)), ["SYM"])]
    (tmp_path / "a.conllu").write_text("".join(TASK.write(pairs)), encoding="utf-8")
    assert [(s.tokens, list(s.tags or ())) for s in TASK.read(tmp_path / "a.conllu", split_text)] == [
        (s.tokens, tags) for s, tags in pairs
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [("AUX", "_", "sentence 1: the word 'do'"), ("1\tdo", "x\tdo", "line 3 "), ("\tSYM", "", "line 7 ")],
)
def test_what_does_not_fit_is_named(old: str, new: str, where: str, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(CONLLU.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=where):
        TASK.read(tmp_path / "a.conllu", split_text)


def test_accuracy_counts_every_word_once() -> None:
    gold = [PosSentence(("a", "b"), ("X", "Y")), PosSentence(("c",), ("NEW",))]
    assert TASK.score([["X", "X"], ["Y"]], gold).values == {"accuracy": pytest.approx(100 / 3)}


def test_it_learns_and_a_tag_that_training_never_saw_is_only_wrong(tmp_path: Path, model: str) -> None:
    words = {"cat": "NOUN", "dog": "NOUN", "sees": "VERB", "eats": "VERB", ".": "PUNCT"}
    rows = [["cat", "sees", "dog", "."], ["dog", "eats", "cat"], ["cat", "eats", "."], ["dog", "sees", "cat", "."]]
    pairs = [(PosSentence(tuple(row)), [words[word] for word in row]) for row in rows]
    (tmp_path / "train.conllu").write_text("".join(TASK.write(pairs * 3)), encoding="utf-8")
    strange = [(PosSentence(("cat", "sees", "7")), ["NOUN", "VERB", "NUM"])]
    (tmp_path / "dev.conllu").write_text("".join(TASK.write([*pairs, *strange])), encoding="utf-8")
    sizes = {"hidden": 8, "characters": 8, "static": "none", "model": model, "elmo": "both", "epochs": 8, "batch": 2}
    preset = with_values(TASK.presets["cpu"], {**sizes, "rate": 0.02}, "a task")
    result = train_task(TaskPlan("pos", find_data(tmp_path), tmp_path / "run", preset))
    assert result.scores.values["accuracy"] == pytest.approx(100 * 16 / 17)
    (record,) = Task.load(tmp_path / "run").predict([["dog", "sees", "cat"]])
    assert len(record.pop("confidences")) == 3
    assert record == {"tokens": ["dog", "sees", "cat"], "tags": ["NOUN", "VERB", "NOUN"]}


@needs(DATA)
@pytest.mark.shared
def test_counts_of_a_real_treebank() -> None:
    data = TASK.find(DATA / "pos" / "en_ewt")
    examples = TASK.read(data.dev, split_text)
    assert (len(examples), sum(len(example.tokens) for example in examples)) == (2001, 25147)


def test_two_columns_are_words_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("the DT\ncat NN\n\n#\tNN\n", encoding="utf-8")
    assert [(one.tokens, one.tags) for one in read_tags(path)] == [(("the", "cat"), ("DT", "NN")), (("#",), ("NN",))]
    path.write_text("the DT\ncat\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: expected a word and its tag, found 1 column"):
        read_tags(path)
