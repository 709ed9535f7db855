"""Neighbours by what stands around a word are those that a comparison of all finds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import small_elmo
from polyseme import Index
from polyseme.errors import ConfigError
from polyseme.lm.places import Place, find_place
from polyseme.senses.uses import Readout, read_uses

LINES = ["the cat sat on a present .", "Here is your birthday present .", "your cat is a present", "Here is the cat ."]
ASKED = "Here is your [cat] ."
ELMO = small_elmo()
INDEX = Index.in_memory(ELMO, LINES)


@pytest.mark.parametrize("by", ["place", "substitutes", "sense"])
def test_as_a_comparison_of_all_places(by: Readout) -> None:
    lines = [line.split() for line in LINES]
    every = [Place(line, position, position + 1) for line in lines for position in range(len(line))]
    expected = read_uses(ELMO, [find_place(ELMO, ASKED)], ELMO.lexicon).similarities(
        read_uses(ELMO, every, ELMO.lexicon), by
    )[0]
    found = INDEX.neighbours(ASKED, by=by, k=100)
    assert sorted(one.row for one in found) == list(range(len(every)))
    np.testing.assert_allclose([one.similarity for one in found], np.sort(expected)[::-1], atol=1e-5)
    np.testing.assert_allclose([one.similarity for one in found], expected[[one.row for one in found]], atol=1e-5)


def test_what_measures_best_is_compared_unless_said_otherwise() -> None:
    assert INDEX.neighbours(ASKED) == INDEX.neighbours(ASKED, by="sense", same_word=True)
    assert INDEX.neighbours(ASKED, same_word=False) == INDEX.neighbours(ASKED, by="word")
    for unheard in ("an [unheard] word", "[Here is] the cat ."):
        assert INDEX.neighbours(unheard) == INDEX.neighbours(unheard, by="word")
    assert INDEX.neighbours(ASKED, same_word=True) == INDEX.neighbours(ASKED, by="sense", same_word=True)
    assert {one.word for one in INDEX.neighbours(ASKED, by="place", same_word=True)} == {"cat"}
    assert INDEX.neighbours("an [unheard] word", same_word=True) == []


def test_an_index_without_the_top_layer_compares_words() -> None:
    index = Index.in_memory(ELMO, LINES, layers=[0])
    assert index.neighbours(ASKED, same_word=True) == index.neighbours(ASKED, by="word", same_word=True)


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(ConfigError, match="should be one of"):
        INDEX.neighbours(ASKED, by="meaning")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a vector has no place"):
        INDEX.neighbours(np.ones(10), by="place")
    with pytest.raises(ConfigError, match="layer selects a vector of the word"):
        INDEX.neighbours(ASKED, by="sense", layer=1)
    with pytest.raises(ConfigError, match="same_word needs one word"):
        INDEX.neighbours("Here [is your] cat", by="sense", same_word=True)
