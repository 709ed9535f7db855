"""A group is named by words that stand in many of its places and in few of the others', and that are like the word."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import small_elmo
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.senses import sense_names
from polyseme.senses.sense_names import group_weights, name_groups, telling

LEXICON = Lexicon(small_elmo())
LABELS = np.array([0, 0, 1, 1])


def places(*words: tuple[str, str]) -> SubstituteVectors:
    """Two words in each place, the first twice as likely as the second."""
    ids = np.array([[LEXICON.find(word) for word in pair] for pair in words], np.int32)
    logits = np.log(np.tile(np.float32([2, 1]), (len(words), 1)))
    return SubstituteVectors.of_logits(ids, logits, len(LEXICON.words))


@pytest.fixture(autouse=True)
def _no_word_is_frequent_or_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense_names, "TOO_FREQUENT", 0)
    monkeypatch.setattr(sense_names, "LIKENESS", 0.0)


FOUND = places(("cat", "sat"), ("cat", "the"), ("birthday", "sat"), ("birthday", "Here"))


def test_what_is_common_in_one_group_and_not_in_the_other_is_its_name() -> None:
    first, second = name_groups("present", LABELS, FOUND, LEXICON)
    assert first == ("cat", "the") and second == ("birthday",)


def test_a_word_in_small_letters_has_names_that_are_written_so_too() -> None:
    assert name_groups("present", LABELS, FOUND, LEXICON)[1] == ("birthday",)
    assert name_groups("Present", LABELS, FOUND, LEXICON)[1] == ("birthday", "Here")


def test_a_rare_word_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rarest = str(LEXICON.words[LEXICON.frequent(len(LEXICON.words))[-1]])
    rare = places((rarest, "sat"), (rarest, "the"), ("cat", "sat"), ("cat", "sat"))
    assert name_groups("Sun", LABELS, rare, LEXICON)[0][0] == rarest
    monkeypatch.setattr(sense_names, "TOO_RARE", len(LEXICON.words) - 1)
    assert rarest not in name_groups("Sun", LABELS, rare, LEXICON)[0]


def test_weights_are_means_and_support_is_a_share() -> None:
    weights, support = group_weights(FOUND, LABELS)
    cat = LEXICON.find("cat")
    assert weights[:, cat] == pytest.approx([(2 / 3) ** 0.5, 0]) and support[:, cat].tolist() == [1, 0]
    assert support[:, LEXICON.find("sat")].tolist() == [0.5, 0.5]


def test_a_word_tells_by_how_much_more_it_weighs_than_anywhere_else() -> None:
    weights = np.array([[0.5, 0.1], [0.2, 0.4], [0.3, 0.0]], np.float32)
    np.testing.assert_allclose(telling(weights), [[0.2, -0.3], [-0.3, 0.3], [-0.2, -0.4]], atol=1e-6)
    np.testing.assert_array_equal(telling(weights[:1]), weights[:1])


def test_the_word_itself_its_forms_and_frequent_words_are_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = places(("present", "cat"), ("present", "sat"))
    assert set(name_groups("presents", np.array([0, 0]), found, LEXICON)[0]) == {"cat", "sat"}
    monkeypatch.setattr(sense_names, "TOO_FREQUENT", len(LEXICON.words))
    assert name_groups("zebra", np.array([0, 0]), found, LEXICON) == [()]


def test_of_two_words_the_one_more_like_the_word_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    near = LEXICON.nearness("present")
    assert near[LEXICON.find("present")] == pytest.approx(1, abs=1e-5)
    assert not LEXICON.nearness("zebra").any()
    monkeypatch.setattr(sense_names, "LIKENESS", 8.0)
    pair = sorted(("cat", "birthday"), key=lambda word: -near[LEXICON.find(word)])
    found = places(("cat", "birthday"), ("birthday", "cat"))
    assert name_groups("present", np.array([0, 0]), found, LEXICON)[0] == tuple(pair)
