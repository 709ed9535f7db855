"""A sense is what the neighbours say of a place: its substitutes, and how alike it is to another by each readout."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import small_elmo
from helpers.tiny_models import tiny_elmo
from polyseme import Sense
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.lm.topics import Topics
from polyseme.senses.uses import SENSE_WEIGHTS, SENTENCE_WEIGHT, Readout

ELMO = small_elmo()
GIFT, MAT = "Here is your birthday [present].", "the cat sat on a [present]."


def test_substitutes_are_the_likeliest_words_with_their_shares() -> None:
    sense = ELMO.sense(GIFT)
    expected = ELMO.substitutes(GIFT, 20)
    assert set(sense.substitutes) == {one.word for one in expected}
    assert list(sense.substitutes.values()) == sorted(sense.substitutes.values(), reverse=True)
    assert sum(sense.substitutes.values()) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(list(sense.vector.values())) == pytest.approx(1, abs=1e-5)


def test_a_token_at_a_position_has_the_sense_of_the_same_word_in_brackets() -> None:
    tokens = ELMO.encode("the cat sat on a present.").tokens
    found = ELMO.sense(tokens, 5)
    assert found.word == "present" and found.similarity(ELMO.sense(MAT)) == pytest.approx(1, abs=1e-5)
    assert ELMO.sense(tokens, -2).word == "present"
    with pytest.raises(InputError, match="there is no token 7 among 7"):
        ELMO.sense(tokens, 7)
    with pytest.raises(ConfigError, match="a list of tokens and a position"):
        ELMO.sense(tokens)


def test_by_substitutes_two_senses_are_as_alike_as_their_vectors() -> None:
    one, other = ELMO.sense(GIFT), ELMO.sense(MAT)
    expected = sum(weight * other.vector.get(word, 0) for word, weight in one.vector.items())
    assert one.similarity(other, "substitutes") == pytest.approx(expected, abs=1e-5)
    assert ELMO.similarity(GIFT, MAT, by="substitutes") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("added", [{"topic": 0.7}, {"sentence": SENTENCE_WEIGHT}], ids=["topics", "no topics"])
def test_by_sense_is_the_weighted_mean_of_what_stands_around_the_word(added: dict[Readout, float]) -> None:
    elmo, weights = small_elmo(), SENSE_WEIGHTS | added
    elmo.lexicon.topics = Topics(elmo.lexicon, elmo.lexicon.rows, added["topic"]) if "topic" in added else None
    one, other = elmo.sense(GIFT), elmo.sense(MAT)
    expected = sum(weight * one.similarity(other, by) for by, weight in weights.items())
    assert one.similarity(other) == pytest.approx(expected / sum(weights.values()), abs=1e-5)
    assert one.similarity(one) == pytest.approx(1, abs=1e-5)
    assert one.similarity(other) == pytest.approx(other.similarity(one), abs=1e-6)


def test_by_word_the_answer_is_one_cosine_a_layer_as_ever() -> None:
    np.testing.assert_array_equal(ELMO.similarity(GIFT, MAT, by="word"), ELMO.similarity(GIFT, MAT))
    assert ELMO.similarity(GIFT, MAT).shape == (3,)
    assert ELMO.sense(GIFT).similarity(ELMO.sense(MAT), "word") == pytest.approx(
        float(ELMO.similarity(GIFT, MAT)[-1]), abs=1e-5
    )


def test_a_sense_says_what_it_is() -> None:
    sense = ELMO.sense(GIFT)
    assert isinstance(sense, Sense) and sense.word == "present"
    assert repr(sense).startswith("Sense('present': ")


def test_a_model_without_a_softmax_compares_by_place_and_sentence() -> None:
    elmo = tiny_elmo(lang="en")
    one, other = elmo.sense(GIFT), elmo.sense(MAT)
    assert one.substitutes == {} and -1 <= one.similarity(other) <= 1
    mean = (one.similarity(other, "place") + one.similarity(other, "sentence")) / 2
    assert one.similarity(other) == pytest.approx(mean, abs=1e-5)
    with pytest.raises(ConfigError, match="no softmax"):
        one.similarity(other, "substitutes")
    with pytest.raises(ConfigError, match="no topics"):
        one.similarity(other, "topic")


def test_what_cannot_be_compared_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="brackets"):
        ELMO.similarity("Here is your present.", MAT, by="sense")
    with pytest.raises(ConfigError, match="should be one of: word, place"):
        ELMO.similarity(GIFT, MAT, by="meaning")  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="carry"):
        small_elmo(state="carry").sense(GIFT)


@pytest.mark.parametrize(
    ("lang", "here", "same", "other"),
    [
        ("en", "Here is your birthday [present].", "He gave her a wedding [present].", "Live in the [present]."),
        ("zh", "我每天早上吃一个[苹果]。", "他买了三斤[苹果]。", "他买了一千股[苹果]公司的股票。"),
    ],
)
def test_a_bundled_model_tells_two_senses_apart(lang: str, here: str, same: str, other: str) -> None:
    elmo = Elmo.from_pretrained(lang)
    assert elmo.similarity(here, same, by="sense") > elmo.similarity(here, other, by="sense")
