"""One word in two lists of texts: what is looked at, and the senses that came and went."""

from __future__ import annotations

import pytest

from helpers.small_lms import small_elmo
from polyseme.errors import InputError
from polyseme.senses.collect import Blocks
from polyseme.senses.shifted_word import SENTENCES, word_shift
from polyseme.text.readers import Document

ELMO = small_elmo()
BEFORE = [f"{begin} the cat sat on a present" for begin in (".", "is", "the", "cat", "your", "on", "a")]
AFTER = [f"present is your birthday {end}" for end in (".", "is", "the", "cat", "your", "on", "a")]


def test_all_is_counted_and_shares_add_up() -> None:
    found = word_shift(ELMO, "present", BEFORE, AFTER)
    assert (found.word, found.totals, found.looked_at) == ("present", (7, 7), (7, 7))
    assert sum(sense.before for sense in found.senses) == pytest.approx(1)
    assert sum(sense.after for sense in found.senses) == pytest.approx(1)
    changes = [sense.change for sense in found.senses]
    assert changes == sorted(changes, reverse=True)
    for sense in found.senses:
        assert len(sense.sentences_before) <= SENTENCES
        assert all("[present]" in sentence for sentence in (*sense.sentences_before, *sense.sentences_after))


def test_the_same_texts_have_not_changed_and_other_ones_have() -> None:
    assert word_shift(ELMO, "present", BEFORE, BEFORE).measures["APD"].p > 0.5
    assert word_shift(ELMO, "present", BEFORE, AFTER).measures["APD"].p < 0.05


def test_of_a_frequent_word_some_uses_are_drawn() -> None:
    found = word_shift(ELMO, "present", BEFORE * 3, AFTER, most=6)
    assert (found.totals, found.looked_at) == ((21, 7), (6, 6))
    assert found == word_shift(ELMO, "present", BEFORE * 3, AFTER, most=6)


def test_a_word_that_a_text_hardly_has_is_refused() -> None:
    with pytest.raises(InputError, match="'birthday' has no uses in the first text; at least 5 are needed"):
        word_shift(ELMO, "birthday", BEFORE, AFTER)


def test_a_block_is_a_run_of_lines_between_empty_ones() -> None:
    lines = ["a", "b", "", "c", "d", "e", "f"]
    documents = [Document(str(number), line, None, "x.txt") for number, line in enumerate(lines)]
    blocks = Blocks([*documents, Document("0", "g", None, "y.txt")], size=3)
    assert [(document.text, blocks.number) for document in blocks if document.text] == [
        ("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 3), ("f", 3), ("g", 4)
    ]  # fmt: skip
