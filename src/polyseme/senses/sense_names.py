"""Names for groups of uses: words that could stand in many places of one group, and in few of the others.

A word's weight in a place is the root of its share among the substitutes. Its weight in a group is the mean over the
group's places; a word names the group in which it weighs most, by how much more that is than in any other group. Of
words that tell a group equally well, the one that is more like the word itself is the better name: for a river's bank
"shore" rather than "door". Function words are no names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.senses.clusters import Labels

NAMES = 4
#: A name stands among the substitutes of at least this share of a group's places.
COMMON = 0.25
#: A word with a cosine of 1 to the word itself counts e to this power as much as one with a cosine of 0.
LIKENESS = 8.0
#: So many of the most frequent words are no names.
TOO_FREQUENT = 100


def name_groups(word: str, labels: Labels, substitutes: SubstituteVectors, lexicon: Lexicon) -> list[tuple[str, ...]]:
    """Some words for each group, the most telling first."""
    weights, support = group_weights(substitutes, labels)  # [groups, V] each
    scores = telling(weights) * np.exp(LIKENESS * lexicon.nearness(word))
    scores[support < COMMON] = 0
    scores[:, lexicon.frequent(TOO_FREQUENT)] = 0
    return [_names(word, row, lexicon.words) for row in scores]


def group_weights(substitutes: SubstituteVectors, labels: Labels) -> tuple[Floats, Floats]:
    """Of every word in every group: the mean weight, and the share of places that have it. [groups, V] each"""
    count = int(labels.max()) + 1
    weights = np.zeros((count, substitutes.words), np.float32)
    support = np.zeros_like(weights)
    for label, ids, row in zip(labels, substitutes.ids, substitutes.weights, strict=True):
        weights[label, ids] += row
        support[label, ids] += row > 0
    sizes = np.bincount(labels, minlength=count)[:, None].astype(np.float32)
    return weights / sizes, support / sizes


def telling(weights: Floats) -> Floats:
    """How much more a word weighs in a group than in the group where it weighs most of the others. [groups, V]"""
    if len(weights) == 1:
        return weights.copy()
    ordered = np.sort(weights, axis=0)
    best_other = np.where(weights == ordered[-1], ordered[-2], ordered[-1])
    difference: Floats = weights - best_other
    return difference


def _names(word: str, scores: npt.NDArray[np.float32], words: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for number in np.argsort(-scores, kind="stable")[: 50 * NAMES].tolist():
        name = words[number]
        if len(found) == NAMES or scores[number] <= 0:
            break
        if name[0].isalpha() and not any(_same(name, other) for other in (word, *found)):
            found.append(name)
    return tuple(found)


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: "bank", "Bank", "banks"."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return long == short or (len(short) > 2 and long.startswith(short) and len(long) - len(short) <= 2)
