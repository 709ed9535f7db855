"""The sense map: which occurrences are on it, and what its groups are called."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.running_server import SENTENCES, served
from helpers.tiny_models import tiny_elmo
from polyseme import SenseMap
from polyseme.errors import InputError
from polyseme.index.vector_index import Index
from polyseme.lm.places import Place
from polyseme.senses.sense_map import MOST_POINTS, find_occurrences, spread
from polyseme.serve.served import ServedModel


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return served("en", SENTENCES)


def test_money_and_river_are_two_groups(model: ServedModel) -> None:
    found = SenseMap.of(model.elmo, "bank", SENTENCES)
    assert found.total == len(found.labels) == sum(len(group.occurrences) for group in found.groups)
    assert sum(group.share for group in found.groups) == pytest.approx(1)
    assert [len(group.occurrences) for group in found.groups] == sorted(
        np.bincount(found.labels).tolist(), reverse=True
    )
    names = [name for group in found.groups for name in group.names]
    assert len(set(names)) == len(names) and "bank" not in names


def test_an_index_and_its_texts_give_the_same_map(model: ServedModel) -> None:
    assert model.index is not None
    by_index, by_texts = SenseMap.of(model.elmo, "bank", model.index), SenseMap.of(model.elmo, "bank", SENTENCES)
    np.testing.assert_array_equal(by_index.labels, by_texts.labels)
    assert [group.names for group in by_index.groups] == [group.names for group in by_texts.groups]
    assert [group.sentences for group in by_index.groups] == [group.sentences for group in by_texts.groups]


def test_the_clearest_sentence_of_a_group_is_like_it_and_unlike_the_others(model: ServedModel) -> None:
    found = SenseMap.of(model.elmo, "bank", SENTENCES)
    similarity = found.uses.similarities(found.uses, "sense")
    for number, group in enumerate(found.groups):
        inside = found.labels == number
        clear = similarity[:, inside].mean(axis=1) - (similarity[:, ~inside].mean(axis=1) if (~inside).any() else 0)
        best = max(np.flatnonzero(inside), key=lambda row: clear[row])
        assert group.occurrences[0] == found.occurrences[best]


def test_a_model_without_words_names_nothing() -> None:
    found = SenseMap.of(tiny_elmo(lang="en"), "bank", SENTENCES)
    assert {len(group.names) for group in found.groups} == {0}


def test_a_word_that_is_not_there_is_said(model: ServedModel) -> None:
    with pytest.raises(InputError, match="'zebra' does not occur in the text"):
        SenseMap.of(model.elmo, "zebra", SENTENCES)


def test_only_the_same_spelling_unless_it_is_rare() -> None:
    many = ["The bank is old."] * 9 + ["Bank is old."]
    few = ["The bank is old."] * 3 + ["Bank is old."]
    for sentences, expected in ((many, 9), (few, 4)):
        index = served("en", sentences).index
        assert index is not None
        assert len(find_occurrences("bank", index)) == expected


@pytest.mark.parametrize("indexed", [True, False])
def test_of_a_frequent_word_some_occurrences_are_drawn(indexed: bool) -> None:
    elmo = tiny_elmo(lang="en")
    texts = [["a", "bank", str(number)] for number in range(MOST_POINTS + 50)]
    found = SenseMap.of(elmo, "bank", Index.in_memory(elmo, texts) if indexed else texts)
    assert (found.total, len(found.occurrences)) == (MOST_POINTS + 50, MOST_POINTS)
    numbers = [int(one.tokens[2]) for one in found.occurrences]
    assert numbers == sorted(set(numbers))


def test_spread() -> None:
    assert spread(3, 5) == [0, 1, 2]
    assert spread(100, 3) == [0, 49, 99]
    assert spread(0, 3) == []


def test_a_place_of_several_tokens(model: ServedModel) -> None:
    """As `substitutes` sees it: what stands between the brackets plays no part."""
    tokens = ["They", "fished", "from", "the", "far", "bank", "."]
    found = model.lexicon.log_probabilities([Place(tokens, 4, 6)])
    words = [one.word for one in model.lexicon.likeliest(found, 5, "both")]
    assert words == [one.word for one in model.elmo.substitutes("They fished from the [far bank].", k=5)]


def test_the_page_has_the_same_side_up_as_the_picture() -> None:
    from polyseme.senses.sense_page import _fitted

    points = np.array([[0.0, 0.0], [1.0, 1.0]], np.float32)
    (_, low), (_, high) = _fitted(points).tolist()
    assert high < low  # SVG counts downwards
