"""Two files are compared word by word, killed and taken up again to the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.small_lms import small_elmo
from polyseme import Index
from polyseme.elmo import Elmo
from polyseme.errors import InputError, JobError
from polyseme.senses import text_shift as module
from polyseme.senses.collect import WordSample
from polyseme.senses.shift_estimate import estimate_shift
from polyseme.senses.shift_samples import ENOUGH_USES, TOO_FREQUENT, choose_words
from polyseme.senses.shifted_word import WordShift
from polyseme.senses.text_shift import DESCRIPTION, RESULT, compare_texts

ELMO = small_elmo()
WORDS = ["cat", "present", "birthday"]


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text("the cat sat on a present .\n\nyour present is the cat .\n\n" * 6, encoding="utf-8")
    after.write_text("Here is your birthday present .\n\nHere is a cat .\n\n" * 6, encoding="utf-8")
    return before, after


def test_words_are_ranked_and_rare_ones_left_out(texts: tuple[Path, Path]) -> None:
    found = compare_texts(ELMO, *texts, WORDS)
    assert {word.word for word in found.words} == {"cat", "present"}
    assert "'birthday' has no uses in the first text" in found.left_out["birthday"]
    excesses = [word.measures["APD"].excess for word in found.words]
    assert excesses == sorted(excesses, reverse=True)
    assert all(word.measures["APD"].p <= found.q[word.word] <= 1 for word in found.words)
    assert json.loads(json.dumps(found.told()))["words"][0]["word"] == found.words[0].word


def test_killed_and_taken_up_again_it_ends_with_the_same_bytes(
    texts: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    expected = compare_texts(ELMO, *texts, WORDS, folder=whole)
    compare = module.compare_samples

    def stop(elmo: Elmo, word: str, *rest: WordSample, seed: int) -> WordShift:
        if word == "present":
            raise KeyboardInterrupt
        return compare(elmo, word, *rest, seed=seed)

    with monkeypatch.context() as patch:
        patch.setattr(module, "compare_samples", stop)
        with pytest.raises(KeyboardInterrupt):
            compare_texts(ELMO, *texts, WORDS, folder=stopped)
    assert not (stopped / RESULT).exists()
    with pytest.raises(JobError, match="continue with --resume"):
        compare_texts(ELMO, *texts, WORDS, folder=stopped)
    with monkeypatch.context() as patch:
        patch.setattr(module, "draw_samples", None)  # what was drawn is there
        assert compare_texts(ELMO, *texts, WORDS, folder=stopped, resume=True) == expected
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }


def test_a_damaged_step_is_made_again(texts: tuple[Path, Path], tmp_path: Path) -> None:
    expected = compare_texts(ELMO, *texts, WORDS, folder=tmp_path / "out")
    (tmp_path / "out" / "word-00001.json").write_text("{", encoding="utf-8")
    assert compare_texts(ELMO, *texts, WORDS, folder=tmp_path / "out", resume=True) == expected


def test_another_comparison_is_not_continued(texts: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    compare_texts(ELMO, *texts, ["cat"], folder=folder)
    with pytest.raises(JobError, match="another comparison was begun"):
        compare_texts(ELMO, *texts, ["present"], folder=folder, resume=True)
    with pytest.raises(JobError, match="already exists"):
        compare_texts(ELMO, *texts, ["present"], folder=folder)
    assert compare_texts(ELMO, *texts, ["present"], folder=folder, overwrite=True).words[0].word == "present"
    assert (folder / DESCRIPTION).exists()


def test_indexes_are_compared_too(texts: tuple[Path, Path], tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for text, folder in zip(texts, folders, strict=True):
        Index.build(ELMO, text, folder)
    by_index, by_text = compare_texts(ELMO, *folders, ["cat"]), compare_texts(ELMO, *texts, ["cat"])
    assert by_index.words[0].totals == by_text.words[0].totals == (12, 6)
    assert by_index.words[0].measures["APD"].value == pytest.approx(by_text.words[0].measures["APD"].value, abs=1e-5)


def test_without_words_the_frequent_ones_of_both_texts_are_taken() -> None:
    grammar = {f"g{'x' * number}": 1000 for number in range(TOO_FREQUENT)}
    before = {**grammar, "cell": 90, "tree": 80, "rare": ENOUGH_USES - 1, "it's": 90, "old": 500}
    after = {**grammar, "cell": 95, "tree": 300, "rare": 900, "it's": 90, "new": 500}
    assert choose_words(before, after, 10) == ["cell", "tree"]
    assert choose_words(before, after, 1) == ["cell"]
    with pytest.raises(InputError, match="name words with --words"):
        choose_words({"cell": 900}, {"cell": 900}, 5)


def test_an_estimate_reads_and_says(texts: tuple[Path, Path]) -> None:
    found = estimate_shift(ELMO, *texts, ["cat"], most_words=10, most_uses=50)
    assert (found.words, found.uses) == (1, 100)
    assert found.seconds > 0
    assert "at most about" in str(found)
