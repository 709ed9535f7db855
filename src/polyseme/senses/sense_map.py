"""The sense map: the occurrences of a word in the index, in one plane for all layers, in groups with telling names.

A group is named by the words that could stand in its places and not in those of the other groups: the words with the
largest share in the Kullback–Leibler divergence between the group's substitutes and everybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats
from polyseme.index.vector_index import Index, Occurrence
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.places import Place
from polyseme.senses.clusters import Labels, find_groups
from polyseme.senses.projection import Plane, fit_plane

Doubles = npt.NDArray[np.float64]

#: Occurrences on a map; of more, every so-manieth is taken.
MOST_POINTS = 300
#: Places of a group whose substitutes name it.
MOST_PLACES = 24
NAMES = 3
#: Occurrences with the same capitals that make a map.
ENOUGH = 8


@dataclass(frozen=True, eq=False)
class SenseMap:
    """All about a word that does not depend on the sentence that was typed."""

    word: str
    total: int  #: occurrences in the index, of which n are on the map
    occurrences: list[Occurrence]
    layers: Floats  # [L+1, n, W]
    plane: Plane
    points: Floats  # [L+1, n, 2]
    groups: Labels  # [n]
    names: list[list[str]]  #: of each group


def map_senses(word: str, index: Index, lexicon: Lexicon | None) -> SenseMap | None:
    """The map of a word; None where the index does not have it. Without a lexicon the groups have no names."""
    every = find_occurrences(word, index)
    if not every:
        return None
    chosen = [every[number] for number in spread(len(every), MOST_POINTS)]
    layers = index.layers_of(chosen)
    plane = fit_plane(layers)
    groups = find_groups(layers.mean(axis=0))
    names = name_groups(word, chosen, groups, lexicon) if lexicon else [[] for _ in range(int(groups.max()) + 1)]
    return SenseMap(word, len(every), chosen, layers, plane, plane.place(layers), groups, names)


def find_occurrences(word: str, index: Index) -> list[Occurrence]:
    """Those that are spelled like it: layer 0 sees nothing but the spelling. Of a rare spelling, those of any case."""
    every = index.occurrences(word)
    alike = [one for one in every if one.word == word]
    return alike if len(alike) >= ENOUGH else every


def spread(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly."""
    if count <= most:
        return list(range(count))
    return [int(number) for number in np.linspace(0, count - 1, most)]


def name_groups(word: str, occurrences: Sequence[Occurrence], groups: Labels, lexicon: Lexicon) -> list[list[str]]:
    """Some words for each group that tell it from the others."""
    members = [[one for one, at in zip(occurrences, groups, strict=True) if at == group] for group in np.unique(groups)]
    shares = np.stack([_mean_distribution(group, lexicon) for group in members])  # [groups, V]
    telling = shares * np.log(np.maximum(shares, 1e-12) / np.maximum(shares.mean(axis=0), 1e-12))
    scores = telling if len(shares) > 1 else shares
    return [_words(word, row, lexicon) for row in _each_word_once(scores)]


def _mean_distribution(occurrences: Sequence[Occurrence], lexicon: Lexicon) -> Doubles:
    """p(w) in the places of a group, on average. [V]"""
    chosen = [occurrences[number] for number in spread(len(occurrences), MOST_PLACES)]
    places = [Place(one.tokens, one.position, one.position + 1) for one in chosen]
    mean: Doubles = np.exp(lexicon.distributions(lexicon.log_probabilities(places))).mean(axis=0)
    return mean


def _each_word_once(scores: Doubles) -> Doubles:
    """A word names the group that it tells most of; to the others it is nothing."""
    best = scores.argmax(axis=0)  # [V]
    owner = np.arange(len(scores))[:, None] == best
    return np.where(owner, scores, -np.inf)


def _words(word: str, scores: Doubles, lexicon: Lexicon) -> list[str]:
    found: list[str] = []
    for number in np.argsort(-scores, kind="stable")[: 20 * NAMES].tolist():
        name = lexicon.words[number]
        known = {word.casefold(), *(other.casefold() for other in found)}
        if scores[number] > 0 and name.casefold() not in known and name[0].isalpha():
            found.append(name)
        if len(found) == NAMES:
            break
    return found
