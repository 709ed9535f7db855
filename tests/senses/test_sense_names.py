"""A group is named by words that fit its places, less so those of the others, and that are like the word."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from helpers.small_lms import small_elmo
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.senses import sense_names
from polyseme.senses.sense_names import group_means, group_weights, telling

LEXICON = Lexicon(small_elmo())
LABELS = np.array([0, 0, 1, 1])


def places(*words: tuple[str, str]) -> SubstituteVectors:
    """Two words in each place, the first twice as likely as the second."""
    ids = np.array([[LEXICON.find(word) for word in pair] for pair in words], np.int32)
    logits = np.log(np.tile(np.float32([2, 1]), (len(words), 1)))
    return SubstituteVectors.of_logits(ids, logits, len(LEXICON.words))


def name_groups(word: str, labels: np.ndarray, found: SubstituteVectors) -> list[tuple[str, ...]]:
    """Names where every word fits a group as well as it stands there."""
    weights = group_weights(found, labels)[0]
    fits = SimpleNamespace(
        fits=lambda _: np.log(weights + np.float32(1e-6)),
        nearness=LEXICON.nearness,
        frequent=LEXICON.frequent,
        words=LEXICON.words,
        find=LEXICON.find,
    )
    place = np.zeros((len(labels), 1), np.float32)
    return sense_names.name_groups(word, labels, place, found, cast(Lexicon, fits))


@pytest.fixture(autouse=True)
def _no_word_is_frequent_or_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense_names, "TOO_FREQUENT", 0)
    monkeypatch.setattr(sense_names, "LIKENESS", 0.0)


FOUND = places(("cat", "sat"), ("cat", "the"), ("birthday", "sat"), ("birthday", "Here"))


def test_what_is_common_in_one_group_and_not_in_the_other_is_its_name() -> None:
    first, second = name_groups("present", LABELS, FOUND)
    assert first == ("cat", "the") and second == ("birthday",)


def test_a_word_in_small_letters_has_names_that_are_written_so_too() -> None:
    assert name_groups("present", LABELS, FOUND)[1] == ("birthday",)
    assert name_groups("Present", LABELS, FOUND)[1] == ("birthday", "Here")


def test_a_rare_word_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rarest = str(LEXICON.words[LEXICON.frequent(len(LEXICON.words))[-1]])
    rare = places((rarest, "sat"), (rarest, "the"), ("cat", "sat"), ("cat", "sat"))
    assert name_groups("Sun", LABELS, rare)[0][0] == rarest
    monkeypatch.setattr(sense_names, "TOO_RARE", len(LEXICON.words) - 1)
    assert rarest not in name_groups("Sun", LABELS, rare)[0]


def test_weights_are_means_and_support_is_a_share() -> None:
    weights, support = group_weights(FOUND, LABELS)
    cat = LEXICON.find("cat")
    assert weights[:, cat] == pytest.approx([(2 / 3) ** 0.5, 0]) and support[:, cat].tolist() == [1, 0]
    assert support[:, LEXICON.find("sat")].tolist() == [0.5, 0.5]


def test_a_word_tells_by_how_well_it_fits_less_half_of_how_well_it_fits_the_others() -> None:
    fits = np.array([[-1.0, -4.0], [-2.0, -1.0], [-4.0, -np.inf]], np.float32)
    found = telling(fits)
    np.testing.assert_allclose(found[:, 0], [-1 + 0.5 * 3, -2 + 0.5 * 2.5, -4 + 0.5 * 1.5], atol=1e-6)
    assert np.isfinite(found).all() and found[2, 1] < -1e5
    np.testing.assert_array_equal(telling(fits[:1]), np.maximum(fits[:1], -1e6))


def test_a_word_names_one_group_only() -> None:
    found = places(("cat", "sat"), ("cat", "the"), ("cat", "sat"), ("sat", "cat"))
    first, second = name_groups("present", LABELS, found)
    assert "cat" in first and "cat" not in second


def test_the_fit_in_a_groups_mean_place_is_the_mean_of_the_fits_in_its_places() -> None:
    states = np.random.default_rng(0).normal(size=(4, 2 * LEXICON.rows.shape[1])).astype(np.float32)
    fits = LEXICON.fits(states)
    known = np.isfinite(fits[0])
    expected = group_means(fits[:, known], LABELS)
    np.testing.assert_allclose(LEXICON.fits(group_means(states, LABELS))[:, known], expected, rtol=1e-4, atol=1e-5)


def test_the_word_itself_its_forms_and_frequent_words_are_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = places(("present", "cat"), ("present", "sat"))
    assert set(name_groups("presents", np.array([0, 0]), found)[0]) == {"cat", "sat"}
    monkeypatch.setattr(sense_names, "TOO_FREQUENT", len(LEXICON.words))
    assert name_groups("zebra", np.array([0, 0]), found) == [()]


def test_of_two_words_the_one_more_like_the_word_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    near = LEXICON.nearness("present")
    assert near[LEXICON.find("present")] == pytest.approx(1, abs=1e-5)
    assert not LEXICON.nearness("zebra").any()
    monkeypatch.setattr(sense_names, "LIKENESS", 8.0)
    pair = sorted(("cat", "birthday"), key=lambda word: -near[LEXICON.find(word)])
    found = places(("cat", "birthday"), ("birthday", "cat"))
    assert name_groups("present", np.array([0, 0]), found)[0] == tuple(pair)
