"""The sense map: which occurrences are on it, and what its groups are called."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.running_server import SENTENCES, served
from polyseme.index.vector_index import Index
from polyseme.lm.places import Place
from polyseme.senses.sense_map import MOST_POINTS, find_occurrences, map_senses, name_groups, spread
from polyseme.serve.served import ServedModel


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return served("en", SENTENCES)


def test_names_tell_a_group_from_the_others(model: ServedModel) -> None:
    """Against the formula, spelled out over the library's own substitutes."""
    assert model.index is not None
    occurrences = model.index.occurrences("bank")[:12]
    groups = np.array([0] * 6 + [1] * 6)
    words = model.lexicon.words
    shares = np.zeros((2, len(words)))
    for number, one in enumerate(occurrences):
        for found in model.elmo.substitutes(one.marked, k=len(words)):
            shares[groups[number], words.index(found.word)] += found.probability / 6
    with np.errstate(divide="ignore", invalid="ignore"):
        telling = np.nan_to_num(shares * np.log(shares / shares.mean(axis=0)))
    named = name_groups("bank", occurrences, groups, model.lexicon)
    for group, names in enumerate(named):
        order = [words[i] for i in np.argsort(-telling[group]) if telling[group].argmax() is not None]
        allowed = [word for word in order if word[0].isalpha() and word.casefold() != "bank"]
        expected: list[str] = []
        for word in allowed:
            mine = telling[:, words.index(word)].argmax() == group
            if mine and word.casefold() not in [other.casefold() for other in expected]:
                expected.append(word)
        assert names == expected[:3]
    assert not set(named[0]) & set(named[1])


def test_a_model_without_words_names_nothing(model: ServedModel) -> None:
    assert model.index is not None
    found = map_senses("bank", model.index, None)
    assert found is not None and {len(names) for names in found.names} == {0}


def test_only_the_same_spelling_unless_it_is_rare() -> None:
    many = ["The bank is old."] * 9 + ["Bank is old."]
    few = ["The bank is old."] * 3 + ["Bank is old."]
    for sentences, expected in ((many, 9), (few, 4)):
        index = served("en", sentences).index
        assert index is not None
        assert len(find_occurrences("bank", index)) == expected


def test_of_a_frequent_word_some_occurrences_are_drawn() -> None:
    elmo = served("en", SENTENCES).elmo
    index = Index.in_memory(elmo, [["a", "bank", str(number)] for number in range(MOST_POINTS + 50)])
    found = map_senses("bank", index, None)
    assert found is not None
    assert (found.total, len(found.occurrences)) == (MOST_POINTS + 50, MOST_POINTS)
    assert found.occurrences[0].tokens[2] == "0" and found.occurrences[-1].tokens[2] == str(MOST_POINTS + 49)


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
