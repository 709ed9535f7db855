"""What static_page/typed.js needs to set a typed sentence beside the occurrences of a word, without a server."""

from __future__ import annotations

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats, add_directions, unit
from polyseme.export.browser_model import pack_arrays
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.uses import WordWeights

#: Words that weigh more than this in the mean of a sentence are left out of the list: they count as one.
NEARLY_ONE = 0.99


def pack_occurrences(found: SenseMap) -> bytes:
    """Vectors of every layer, the plane that they lie in, and the means of each group's places and sentences."""
    numbers = {
        "word": found.uses.word,  # [L+1, n, W]
        "means": found.plane.means.reshape(-1),  # [L+1, W]
        "axes": found.plane.axes.reshape(-1),  # [W, 2]
        "groups.place": group_means(found, found.uses.place).reshape(-1),
        "groups.sentence": group_means(found, found.uses.sentence).reshape(-1),
    }
    return pack_arrays(numbers)


def word_weights(elmo: Elmo) -> dict[str, float]:
    """What frequent words weigh in the mean of a sentence."""
    if elmo.vocabulary is None:
        return {}
    weights = WordWeights(elmo.vocabulary).of(elmo.vocabulary.words).tolist()
    found = zip(elmo.vocabulary.words, weights, strict=True)
    return {word: round(weight, 3) for word, weight in found if weight < NEARLY_ONE}


def group_means(found: SenseMap, vectors: Floats) -> Floats:
    """The mean of each group's directions: its product with a use is the mean of the cosines. [groups, D]"""
    directions = unit(add_directions(vectors, found.uses.directions))
    return np.stack([directions[found.labels == number].mean(axis=0) for number in range(len(found.groups))])
