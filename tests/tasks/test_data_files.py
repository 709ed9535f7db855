"""A folder's files by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.tasks.data_files import find_data, split_of


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("en_ewt-ud-train.conllu.xz", "train"),
        ("en_ewt-ud-train.recovered.iob2.xz", "train"),
        ("eng.testa", "dev"),
        ("eng.testb", "test"),
        ("snli_1.0_dev.jsonl", "dev"),
        ("klue-ner-v1.1_dev-resplit-train.tsv.xz", "train"),
        ("valid.txt", "dev"),
        ("README.md", None),
        ("latest.txt", None),
    ],
)
def test_names(name: str, split: str | None) -> None:
    assert split_of(name) == split


def folder(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).touch()
    return path


def test_the_better_suffix_is_taken(tmp_path: Path) -> None:
    there = folder(tmp_path, "train.tsv.xz", "train.jsonl", "dev.jsonl.xz", "dev.ids", "notes.txt")
    found = find_data(there, (".tsv", ".jsonl"))
    assert (found.train.name, found.dev.name, found.test) == ("train.tsv.xz", "dev.jsonl.xz", None)


def test_several_test_sets_do_not_stop_a_training(tmp_path: Path) -> None:
    there = folder(tmp_path, "train.props.gz", "dev.props.gz", "test.wsj.props.gz", "test.brown.props.gz")
    assert find_data(there).test is None


def test_what_is_missing_or_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a folder"):
        find_data(tmp_path / "nowhere")
    there = folder(tmp_path, "a-train.txt", "b-train.txt", "notes.txt")
    with pytest.raises(InputError, match=r"a-train.txt, b-train.txt; keep one, or name both: --train and --dev"):
        find_data(there)
    (there / "b-train.txt").unlink()
    with pytest.raises(InputError, match="'dev'"):
        find_data(there)
