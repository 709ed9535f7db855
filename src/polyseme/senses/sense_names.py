"""Names for groups of uses: words that could stand in many places of one group, and in few of the others.

A word's weight in a place is the root of its share among the substitutes. Its weight in a group is the mean over the
group's places; a word names the group in which it weighs most, by how much more that is than in any other group. Of
words that tell a group equally well, the one that is more like the word itself is the better name: for a river's bank
"shore" rather than "door". Function words, rare words and proper nouns are no names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats, unit
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.places import Place
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.senses.clusters import Labels
from polyseme.senses.uses import WordWeights

NAMES = 4
#: A name stands among the substitutes of at least this share of a group's places.
COMMON = 0.1
#: A word with a cosine of 1 to the word itself counts e to this power as much as one with a cosine of 0.
LIKENESS = 12.0
#: So many of the most frequent words are no names; nor are those that come after so many.
TOO_FREQUENT, TOO_RARE = 100, 10_000


def name_groups(word: str, labels: Labels, substitutes: SubstituteVectors, lexicon: Lexicon) -> list[tuple[str, ...]]:
    """Some words for each group, the most telling first."""
    weights, support = group_weights(substitutes, labels)  # [groups, V] each
    scores = telling(weights) * np.exp(LIKENESS * lexicon.nearness(word))
    scores[support < COMMON] = 0
    by_frequency = lexicon.frequent(len(lexicon.words))
    scores[:, by_frequency[:TOO_FREQUENT]] = 0
    scores[:, by_frequency[TOO_RARE:]] = 0
    return [_names(word, row, lexicon) for row in scores]


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


def words_around(
    word: str, labels: Labels, places: Sequence[Place], lexicon: Lexicon, weights: WordWeights
) -> list[tuple[str, ...]]:
    """Words of each group's own sentences that belong to it rather than to the others, the most telling first.

    A word belongs to a group as far as its row in the softmax is like the weighted mean row of the other words around
    the group's uses, more than like that of any other group.
    """
    count = int(labels.max()) + 1
    sums = np.zeros((count, lexicon.rows.shape[1]), np.float32)  # [groups, D]
    found: list[dict[str, tuple[int, Floats]]] = [{} for _ in range(count)]
    for label, place in zip(labels.tolist(), places, strict=True):
        around = [*place.tokens[: place.begin], *place.tokens[place.end :]]
        for token, weight in zip(around, weights.of(around).tolist(), strict=True):
            number = lexicon.find(token)
            if number is not None and token.isalpha() and token == token.lower():
                part = weight * lexicon.rows[number]
                sums[label] += part
                found[label][token] = (number, found[label].get(token, (number, 0 * part))[1] + part)
    means, named = unit(sums), list[tuple[str, ...]]()
    for label, tokens in enumerate(found):
        scores = dict[str, float]()
        for token, (number, own) in tokens.items():
            cosines = means @ lexicon.rows[number]
            others = max((float(cosines[one]) for one in range(count) if one != label), default=0.0)
            rest = unit((sums[label] - own)[None])[0]  # a word says nothing of how like itself it is
            scores[token] = float(weights.of([token])[0]) * (float(rest @ lexicon.rows[number]) - others)
        named.append(_first_names(word, sorted(scores, key=lambda token: -scores[token])))
    return named


def _first_names(word: str, ordered: Iterable[str]) -> tuple[str, ...]:
    """The first that are no forms of the word or of each other."""
    found: list[str] = []
    for name in ordered:
        if len(found) == NAMES:
            break
        if not any(_same(name, other) for other in (word, *found)):
            found.append(name)
    return tuple(found)


def _names(word: str, scores: npt.NDArray[np.float32], lexicon: Lexicon) -> tuple[str, ...]:
    best = np.argsort(-scores, kind="stable")[: 50 * NAMES].tolist()
    found = (lexicon.words[number] for number in best if scores[number] > 0)
    return _first_names(word, (name for name in found if name[0].isalpha() and _fits_in_case(name, word, lexicon)))


def _fits_in_case(name: str, word: str, lexicon: Lexicon) -> bool:
    """Whether a word in small letters has a name that is written so too: "Thus" is, "Powerpuff" is not."""
    return not word.islower() or name.islower() or lexicon.find(name.lower()) is not None


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: "bank", "Bank", "banks"."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return long == short or (len(short) > 2 and long.startswith(short) and len(long) - len(short) <= 2)
