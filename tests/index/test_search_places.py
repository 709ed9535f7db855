"""The places of an index are those of the encodings, though only vectors of words are stored."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import small_elmo
from polyseme import Index
from polyseme.elmo import Elmo
from polyseme.encoding import add_directions, unit
from polyseme.errors import ConfigError

LINES = ["the cat sat on a present", "Here", "is your birthday present . Here is the cat", "a present"]


def places_of(elmo: Elmo) -> np.ndarray:
    found = [add_directions(elmo.encode(line).place, elmo.config.directions) for line in LINES]
    return unit(np.concatenate(found))


@pytest.mark.parametrize("elmo", [small_elmo(), small_elmo(bidirectional=False), small_elmo(state="warm")])
def test_stored_places_are_those_of_the_encodings(elmo: Elmo) -> None:
    index, expected = Index.in_memory(elmo, LINES, layers="top"), places_of(elmo)
    assert len(index) == len(expected)
    np.testing.assert_allclose(index._places[:], expected, atol=2e-3)  # float16 has three digits
    rows = np.array([7, 0, 3, len(expected) - 1])
    np.testing.assert_allclose(index._places[rows], expected[rows], atol=2e-3)


def test_the_nearest_place_of_a_place_is_itself() -> None:
    elmo = small_elmo()
    index = Index.in_memory(elmo, LINES, layers="top")
    for row, place in enumerate(places_of(elmo)):
        found, cosines = index.nearest_places(place, 1)
        assert cosines[0] == pytest.approx(1, abs=2e-3)
        assert found[0] == row or np.allclose(places_of(elmo)[found[0]], place, atol=1e-2)


def test_an_index_without_the_top_layer_says_so() -> None:
    index = Index.in_memory(small_elmo(), LINES, layers=[0])
    with pytest.raises(ConfigError, match="not in this index"):
        index.neighbours("the [cat] sat", by="place")
