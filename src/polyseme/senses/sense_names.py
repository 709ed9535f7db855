"""Names for groups of uses: words that fit the places of one group, less so those of the others, and are like the word.

    score = ln fit in the group's mean place  −  0.5 · ln fit in the others'  +  16 · likeness to the word

The fit in the mean place is, up to a constant, the geometric mean of the fits in all places: a name suits them all. A
word that fits everywhere tells little, so half of how well it fits the other groups is taken off. And the word itself
knows what kind of thing it is: for a river's bank "shore" rather than "door". A word names one group only, the one in
which it weighs most. Function words, rare words and proper nouns are no names.
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
#: What the fit in the other groups counts, beside that in a group, and the cosine with the word itself. Chosen on
#: labelled groups, as is all of the above (docs/senses.md).
OTHERS, LIKENESS = 0.5, 16.0
#: So many of the most frequent words are no names; nor are those that come after so many.
TOO_FREQUENT, TOO_RARE = 100, 10_000


def name_groups(
    word: str, labels: Labels, place: Floats, substitutes: SubstituteVectors, lexicon: Lexicon
) -> list[tuple[str, ...]]:
    """Some words for each group, the most telling first. ``place``: [n, W]"""
    weights, support = group_weights(substitutes, labels)  # [groups, V] each
    scores = telling(lexicon.fits(group_means(place, labels))) + LIKENESS * lexicon.nearness(word)
    scores[(support < COMMON) | ~heaviest(weights)] = -np.inf
    by_frequency = lexicon.frequent(len(lexicon.words))
    scores[:, by_frequency[:TOO_FREQUENT]] = -np.inf
    scores[:, by_frequency[TOO_RARE:]] = -np.inf
    return [_names(word, row, lexicon) for row in scores]


def group_means(vectors: Floats, labels: Labels) -> Floats:
    """[n, W] → [groups, W]"""
    means: Floats = np.stack([vectors[labels == number].mean(axis=0) for number in range(int(labels.max()) + 1)])
    return means


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


def heaviest(weights: Floats) -> npt.NDArray[np.bool_]:
    """Where a word weighs more than in every other group. [groups, V]"""
    if len(weights) == 1:
        return weights > 0
    found: npt.NDArray[np.bool_] = weights > np.sort(weights, axis=0)[-2]
    return found


def telling(fits: Floats) -> Floats:
    """How well a word fits a group, less a part of how well it fits the others on average. [groups, V]"""
    finite = np.maximum(fits, np.float32(-1e6))  # what marks a sentence's boundary fits nowhere: −∞
    others = (finite.sum(axis=0) - finite) / max(1, len(fits) - 1)
    difference: Floats = finite - OTHERS * others
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
    found = (lexicon.words[number] for number in best if scores[number] > -np.inf)
    return _first_names(word, (name for name in found if name[0].isalpha() and _fits_in_case(name, word, lexicon)))


def _fits_in_case(name: str, word: str, lexicon: Lexicon) -> bool:
    """Whether a word in small letters has a name that is written so too: "Thus" is, "Powerpuff" is not."""
    return not word.islower() or name.islower() or lexicon.find(name.lower()) is not None


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: "bank", "Bank", "banks"."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return long == short or (len(short) > 2 and long.startswith(short) and len(long) - len(short) <= 2)
