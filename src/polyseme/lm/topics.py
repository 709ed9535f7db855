"""The topic of the words around a place, by a map learned from unlabelled documents.

A document has one topic, and a word mostly keeps its sense in it (Gale et al., 1992: one sense per discourse). So what
the sentences of one document have in common says more about senses than what sentences share by chance:

    bag of a sentence    the sum of its words' rows in the softmax, rare words first            [D]
    topic of a sentence  bag · map: close for sentences of one document, far apart for others   [TOPICS]

The map is Fisher's linear discriminant with documents as classes. models/topics.safetensors has one for each bundled
model by its fingerprint, and the weight of the topic in "sense" with that model; `benchmarks/learn_topics.py` learned
both. Other models have no topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from polyseme.encoding import Floats, unit
from polyseme.formats.releases.known import MODELS
from polyseme.lm.places import Place

if TYPE_CHECKING:
    from polyseme.lm.lexicon import Lexicon

Doubles = npt.NDArray[np.float64]

MAPS = MODELS / "topics.safetensors"
#: The number of columns of a map; the shrinkage of the scatter within documents towards the identity; the frequency at
#: which a word has half its weight. Chosen on the choosing halves (docs/senses.md).
TOPICS, SHRINKAGE, HALF_WEIGHT = 32, 3.0, 1e-4


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of the words of a softmax."""

    lexicon: Lexicon
    words: Floats  # [V, TOPICS], rare words long and frequent ones short
    weight: float  #: weight of the topic in "sense", relative to 1 for substitutes

    @classmethod
    def of(cls, lexicon: Lexicon, fingerprint: str, path: Path = MAPS) -> Topics | None:
        """The topics of a model, or None if it has no map."""
        known = load_file(path) if path.is_file() else {}
        if fingerprint not in known:
            return None
        words = weighted_rows(lexicon) @ known[fingerprint].astype(np.float32)
        return cls(lexicon, words, float(known[weight_name(fingerprint)]))

    def around(self, place: Place) -> Floats:
        """The topic of all words of the sentence except the place; zeros if none of them is known. [TOPICS]"""
        return bag(self.lexicon, self.words, (*place.tokens[: place.begin], *place.tokens[place.end :]))

    def around_all(self, places: Sequence[Place]) -> Floats:
        """[n, TOPICS]"""
        found = np.zeros((len(places), self.words.shape[1]), np.float32)
        for number, place in enumerate(places):
            found[number] = self.around(place)
        return found


def weight_name(fingerprint: str) -> str:
    """The name under which the weight of a model's topics is stored, beside its map."""
    return f"weight of {fingerprint}"


def weighted_rows(lexicon: Lexicon) -> Floats:
    """The direction of every word's row in the softmax, scaled so that rarer words are longer. [V, D]"""
    weights = HALF_WEIGHT / (HALF_WEIGHT + lexicon.shares)
    weighted: Floats = lexicon.rows * weights.astype(np.float32)[:, None]
    return weighted


def bag(lexicon: Lexicon, vectors: Floats, tokens: Iterable[str]) -> Floats:
    """The sum of the vectors [V, D] of the words that the model knows. [D]"""
    numbers = [number for token in tokens if (number := lexicon.find(token)) is not None]
    total: Floats = vectors[numbers].sum(axis=0)
    return total


def learn_map(bags: Floats, documents: Sequence[int]) -> Floats:
    """The bags of sentences [n, D], and the document of each → the map [D, TOPICS]."""
    within, between = _scatters(unit(bags).astype(np.float64), np.asarray(documents))
    size = len(within)
    values, vectors = np.linalg.eigh(within * size / np.trace(within) + SHRINKAGE * np.eye(size))
    round_out = (vectors / np.sqrt(values)) @ vectors.T
    values, vectors = np.linalg.eigh(round_out @ between @ round_out)
    leading = np.argsort(-values)[:TOPICS]
    found: Floats = (round_out @ vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0))).astype(np.float32)
    return found


def _scatters(bags: Doubles, documents: npt.NDArray[np.int64]) -> tuple[Doubles, Doubles]:
    """The covariance of bags around their document's mean, and that of the documents' means. [D, D] each"""
    _, number, count = np.unique(documents, return_inverse=True, return_counts=True)
    means = np.zeros((len(count), bags.shape[1]))
    np.add.at(means, number, bags)
    means /= count[:, None]
    around = bags - means[number]
    within = around.T @ around / max(1, len(bags) - len(count))
    # Subtract the part of the means' spread that is due to chance.
    between = np.cov(means.T) - within * (1 / count).mean()
    return within, np.asarray(between, np.float64)
