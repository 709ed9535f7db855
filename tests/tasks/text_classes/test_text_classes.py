"""Any texts, and pairs of them, with any labels, in the files that people have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.small_runs import small_run
from polyseme.errors import InputError
from polyseme.tasks.labelled_files import Labelled, read_labelled

GOOD, BAD = "Ada likes Rome .", "Bob left Ulm ."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f'text,label\n"{GOOD}",pos\n"{BAD}",neg\n'),
        ("a.tsv", f"sentence\tlabel\n{GOOD}\tpos\n{BAD}\tneg\n"),
        ("a.jsonl", f'{{"label": "pos", "review": "{GOOD}"}}\n\n{{"label": "neg", "review": "{BAD}"}}\n'),
    ],
)
def test_tables_and_json(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_labelled(tmp_path / name, pairs=False) == [Labelled((GOOD,), "pos"), Labelled((BAD,), "neg")]


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    for label, text in (("pos", GOOD), ("neg", BAD)):
        (tmp_path / "train" / label).mkdir(parents=True)
        (tmp_path / "train" / label / "1.txt").write_text(text, encoding="utf-8")
    assert read_labelled(tmp_path / "train", pairs=False) == [Labelled((BAD,), "neg"), Labelled((GOOD,), "pos")]


def test_pairs_as_glue_has_them(tmp_path: Path) -> None:
    path = tmp_path / "rte.tsv"
    path.write_text('index\tsentence1\tsentence2\tlabel\n0\tHe said "no\tHe spoke.\tentailment\n', encoding="utf-8")
    assert read_labelled(path, pairs=True) == [Labelled(('He said "no', "He spoke."), "entailment")]


@pytest.mark.parametrize(
    ("content", "said"),
    [("text\nx\n", "line 2 has no label"), ("label\n1\n", "no text; expected"), ("label,text\n1, \n", "empty text")],
)
def test_what_is_missing_is_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_labelled(path, pairs=False)


def test_a_classifier_learns_any_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("label,text\n" + f"7,{GOOD}\nx y,{BAD}\n" * 6, encoding="utf-8")
    task, finished = small_run("text", tmp_path, path, path, hidden=8, batch=4, rate=0.02, epochs=4)
    assert finished.scores.values["accuracy"] == 100
    (record,) = task.predict(GOOD)
    assert (record["text"], record["label"]) == (GOOD, "7")
    assert 0.5 < record["confidence"] <= 1


def test_a_classifier_of_pairs_learns_any_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    rows = [(GOOD, BAD, 0), (GOOD, GOOD, 1), (BAD, GOOD, 0), (BAD, BAD, 1)] * 3
    lines = (json.dumps({"question1": a, "question2": b, "is_duplicate": c}) for a, b, c in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    task, finished = small_run("pairs", tmp_path, path, path, hidden=8, batch=4, rate=0.02, epochs=12)
    assert finished.scores.values["accuracy"] >= 75
    (record,) = task.predict(f"{GOOD}\t{GOOD}")
    assert set(record) == {"text1", "text2", "label", "confidence"}
