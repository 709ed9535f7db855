"""What the readouts say of a use: the word itself plays no part in place and substitutes."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import COUNTS, WORDS, small_elmo, small_lm
from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.errors import ConfigError
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.places import Place, find_place
from polyseme.senses.uses import HALF_WEIGHT, Readout, Uses, WordWeights, read_uses
from polyseme.text.vocabulary import Vocabulary

TEXTS = ("Here is your birthday [present].", "[the] cat sat on a present.", "your cat sat on [a present].", "[Here]")
ELMO = small_elmo()


def uses_of(elmo: Elmo, *texts: str) -> Uses:
    return read_uses(elmo, [find_place(elmo, text) for text in texts], Lexicon(elmo))


def test_word_and_place_are_those_of_the_encoding() -> None:
    uses = uses_of(ELMO, *TEXTS)
    for number, text in enumerate(TEXTS):
        place = find_place(ELMO, text)
        (encoding,) = ELMO.encode_tokens([place.tokens])
        np.testing.assert_allclose(uses.word[:, number], place.vectors(encoding.layers), atol=1e-6)
        np.testing.assert_array_equal(uses.place[number, :5], encoding.place[place.begin, :5])
        np.testing.assert_array_equal(uses.place[number, 5:], encoding.place[place.end - 1, 5:])


def test_the_place_is_what_substitutes_are_found_from() -> None:
    places = [find_place(ELMO, text) for text in TEXTS]
    np.testing.assert_allclose(read_uses(ELMO, places).place, Lexicon(ELMO).states(places), atol=1e-6)


@pytest.mark.parametrize("by", ["place", "substitutes"])
def test_the_word_itself_plays_no_part(by: Readout) -> None:
    one = uses_of(ELMO, "Here is your [cat].")
    other = uses_of(ELMO, "Here is your [zebra].")
    assert one.similarities(other, by)[0, 0] == pytest.approx(1, abs=1e-5)
    assert one.similarities(other, "word")[0, 0] < 0.999


def test_the_sentence_is_the_weighted_mean_of_the_other_words() -> None:
    (encoding,) = ELMO.encode_tokens([["Here", "is", "zebra", "present"]])
    uses = read_uses(ELMO, [Place(encoding.tokens, 3, 4)])
    shares = {word: count / sum(COUNTS) for word, count in zip(WORDS, COUNTS, strict=True)}
    weights = [HALF_WEIGHT / (HALF_WEIGHT + shares.get(word, 0)) for word in ("Here", "is", "zebra")]
    expected = np.average(encoding.layers[-1, :3], axis=0, weights=weights)
    np.testing.assert_allclose(uses.sentence[0], expected, atol=1e-6)


def test_a_word_alone_has_no_sentence_around_it() -> None:
    assert not uses_of(ELMO, "[Here]").sentence.any()


def test_similarities_are_cosines_of_both_directions_added() -> None:
    uses = uses_of(ELMO, *TEXTS)
    for by, vectors in (("place", uses.place), ("sentence", uses.sentence)):
        added = unit(vectors[:, :5] + vectors[:, 5:])
        np.testing.assert_allclose(uses.similarities(uses[:2], by), added @ added[:2].T, atol=1e-5)  # type: ignore[arg-type]
    word = unit(uses.word[1])
    np.testing.assert_allclose(uses.similarities(uses, "word", 1), word @ word.T, atol=1e-5)


def test_without_counts_all_words_weigh_the_same() -> None:
    for vocabulary in (None, Vocabulary(WORDS)):
        np.testing.assert_array_equal(WordWeights(vocabulary).of(["the", "zebra"]), [1, 1])


def test_a_model_that_reads_forward_only() -> None:
    elmo = Elmo(small_lm(bidirectional=False), device="cpu")
    uses = uses_of(elmo, *TEXTS)
    assert uses.place.shape == (4, 5)
    np.testing.assert_allclose(np.diag(uses.similarities(uses, "place")), 1, atol=1e-5)


def test_without_a_softmax_there_are_no_substitutes() -> None:
    elmo = tiny_elmo(lang="en")
    uses = read_uses(elmo, [find_place(elmo, text) for text in TEXTS])
    assert uses.similarities(uses, "place").shape == (4, 4)
    with pytest.raises(ConfigError, match="no softmax"):
        uses.similarities(uses, "substitutes")


def test_carried_state_would_compare_other_things() -> None:
    with pytest.raises(ConfigError, match="carry"):
        uses_of(small_elmo(state="carry"), TEXTS[0])
