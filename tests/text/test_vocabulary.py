"""Vocabulary: ids are line numbers, files are read by their own rules, and the same counts give the same order."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import ConfigError, InputError
from polyseme.text.vocabulary import SPECIALS, Vocabulary

WORDS = st.text(st.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"]))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_ids_are_positions_and_the_unknown_is_unk() -> None:
    vocabulary = Vocabulary(("<S>", "</S>", "<UNK>", "the", "cat"))
    assert vocabulary.ids(["the", "dog", "cat", "</S>"]) == [3, 2, 4, 1]
    assert (len(vocabulary), "cat" in vocabulary, "dog" in vocabulary) == (5, True, False)
    assert (vocabulary.find("cat"), vocabulary.find("dog")) == (4, None)


def test_without_unk_an_unknown_word_is_an_error() -> None:
    assert Vocabulary(("a", "b")).ids(["b", "a"]) == [1, 0]
    with pytest.raises(ConfigError, match="no <UNK>"):
        Vocabulary(("a", "b")).ids(["a", "c"])


def test_bilm_tf_rules(tmp_path: Path) -> None:
    path = write(tmp_path / "vocab.txt", "<S>\n  the \n!!!MAXTERMID\n\nthe\ncat\tx\u3000\r\n")
    vocabulary = Vocabulary.read_bilm_tf(path)
    assert vocabulary.words == ("<S>", "the", "", "the", "cat\tx")
    assert vocabulary.counts is None
    assert vocabulary.ids(["the", ""]) == [3, 2]  # the last of two wins


def test_gz_reads_the_same(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"<S>\nthe\n"))
    assert Vocabulary.read_bilm_tf(tmp_path / "vocab.txt.gz").words == ("<S>", "the")
    assert Vocabulary.read(tmp_path / "vocab.txt.gz").words == ("<S>", "the")


@given(st.lists(WORDS), st.booleans(), st.sampled_from(["vocab.txt", "vocab.txt.gz"]))
def test_written_and_read_back_it_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], counted: bool, name: str
) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / name
    counts = tuple(range(len(words))) if counted and words else None
    vocabulary = Vocabulary(tuple(words), counts)
    vocabulary.write(path)
    assert Vocabulary.read(path) == vocabulary
    assert [found.name for found in path.parent.iterdir()] == [name]


def test_the_file_is_one_word_a_line_with_its_count(tmp_path: Path) -> None:
    Vocabulary(("<S>", "new york"), (0, 7)).write(tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == b"<S>\t0\nnew york\t7\n"


@pytest.mark.parametrize("word", ["a\tb", "a\n", "\r"])
def test_a_word_that_no_file_can_hold_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match="tab or a line break"):
        Vocabulary(("a", word)).write(tmp_path / "vocab.txt")
    with pytest.raises(InputError, match="tab or a line break"):
        Vocabulary.build({word: 1})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\t1\nb\n", "line 2: either every line has a count"),
        ("a\nb\t1\n", "line 2: either every line has a count"),
        ("a\tmany\n", "line 1: 'many' is not a count"),
        ("a\t1\t2\n", "line 1: '1\\t2' is not a count"),
        ("a\t-1\n", "line 1: '-1' is not a count"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Vocabulary.read(write(tmp_path / "vocab.txt", text))
    assert expected in str(caught.value)


def test_counts_must_fit() -> None:
    with pytest.raises(ConfigError, match="2 words was given 1 counts"):
        Vocabulary(("a", "b"), (1,))


# Building


def test_specials_first_then_by_count_then_by_word() -> None:
    vocabulary = Vocabulary.build({"b": 2, "a": 2, "c": 5, "é": 2, "rare": 1, "</S>": 4}, min_count=2)
    assert vocabulary.words == ("<S>", "</S>", "<UNK>", "c", "a", "b", "é")
    assert vocabulary.counts == (0, 4, 1, 5, 2, 2, 2)


def test_size_counts_the_specials() -> None:
    vocabulary = Vocabulary.build({"a": 3, "b": 2, "c": 1}, size=4)
    assert vocabulary.words == (*SPECIALS, "a")
    assert vocabulary.counts == (0, 0, 3, 3)
    assert Vocabulary.build({"a": 3}, size=3).words == SPECIALS
    with pytest.raises(ConfigError, match="size=2 is too small"):
        Vocabulary.build({"a": 3}, size=2)


@given(st.dictionaries(WORDS, st.integers(1, 5)), st.integers(3, 10), st.randoms())
def test_the_order_of_the_counts_does_not_matter(counts: dict[str, int], size: int, chance: random.Random) -> None:
    shuffled = list(counts.items())
    chance.shuffle(shuffled)
    vocabulary = Vocabulary.build(counts, size=size)
    assert Vocabulary.build(dict(shuffled), size=size) == vocabulary
    assert vocabulary.counts is not None
    assert sum(vocabulary.counts) == sum(counts.values())  # nothing is lost: the rest is <UNK>
    vocabulary.check_for_training()


# Training


def test_training_refuses_duplicates_and_missing_specials() -> None:
    Vocabulary((*SPECIALS, "a")).check_for_training()
    with pytest.raises(ConfigError, match="lacks </S>, <UNK>"):
        Vocabulary(("<S>", "a")).check_for_training()
    with pytest.raises(ConfigError, match="2 words more than once \\('a', '<S>'\\)"):
        Vocabulary(("a", *SPECIALS, "a", "<S>", "b")).check_for_training()
