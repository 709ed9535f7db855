"""Uses of words, and five ways to read a sense off each; the sixth, "sense", puts some of them together.

                      watch  as   a      wedding   [present]   .
    word                                            ───────            the token's own vector, in a layer
    place             ──────── forward ─────────►            ◄─ back   the states that predict what stands there
    substitutes                                     gift, dress, …     the words that they predict
    sentence          ─────  ──   ─      ───────             ──        the mean of the other words, rare ones first
    topic             ─────  ──   ─      ───────             ──        what the other words are about (`topics`)

The word's own vector knows how the word is written, so it holds uses of one word together whatever they mean. Place and
substitutes never see the word: what they say of it is what it means here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import Encoding, Floats, add_directions, unit
from polyseme.errors import ConfigError
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.places import Place
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.text.vocabulary import Vocabulary

Readout = Literal["word", "place", "sentence", "topic", "substitutes", "sense"]

#: What each readout's cosine counts for in "sense". Chosen together with the grouping, on the choosing halves of
#: senses.tsv, of pseudo-words and of SemCor's lemmas (docs/senses.md). The weight of the topic belongs to the model.
SENSE_WEIGHTS: dict[Readout, float] = {"substitutes": 1.0, "place": 0.15}
#: In place of the topic, where there is none.
SENTENCE_WEIGHT = 0.15

#: A word weighs A / (A + p(word)) in the mean of a sentence (Arora et al., 2017): as frequent as this, one half.
HALF_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class Uses:
    """n uses of words. A model without a softmax knows no substitutes; topics are known of the bundled models."""

    word: Floats  # [L+1, n, W]
    place: Floats  # [n, W]
    sentence: Floats  # [n, W]
    substitutes: SubstituteVectors | None
    topic: Floats | None  # [n, TOPICS]
    topic_weight: float  #: in "sense"
    directions: int  #: 1 for a model that reads forward only

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, rows: slice | npt.NDArray[np.int64] | list[int]) -> Uses:
        found = None if self.substitutes is None else self.substitutes[rows]
        topic = None if self.topic is None else self.topic[rows]
        contexts = self.place[rows], self.sentence[rows]
        return Uses(self.word[:, rows], *contexts, found, topic, self.topic_weight, self.directions)

    @property
    def sense_weights(self) -> dict[Readout, float]:
        """What "sense" is made of here."""
        known = self.substitutes is not None
        weights = {by: weight for by, weight in SENSE_WEIGHTS.items() if known or by != "substitutes"}
        return weights | ({"sentence": SENTENCE_WEIGHT} if self.topic is None else {"topic": self.topic_weight})

    def similarities(self, other: Uses, by: Readout, layer: int = -1) -> Floats:
        """The cosine of every use here with every use there, by a readout; ``layer`` is that of "word". [n, m]"""
        if by == "sense":
            return self._combined(other)
        if by == "substitutes":
            if self.substitutes is None or other.substitutes is None:
                raise ConfigError("this model has no softmax, so it has no substitutes; compare by another readout")
            return self.substitutes.cosines(other.substitutes)
        if by == "topic":
            if self.topic is None or other.topic is None:
                raise ConfigError("no topics were learned for this model; compare by another readout")
            return _cosines(self.topic, other.topic)
        return _cosines(self._vectors(by, layer), other._vectors(by, layer))

    def _combined(self, other: Uses) -> Floats:
        """The weighted mean of the readouts that make up "sense". [n, m]"""
        weights = self.sense_weights
        total = sum(weight * self.similarities(other, by) for by, weight in weights.items())
        mean: Floats = np.asarray(total / sum(weights.values()), np.float32)
        return mean

    def _vectors(self, by: Readout, layer: int) -> Floats:
        """[n, W], or [n, D] where the directions are added."""
        if by == "word":
            vectors: Floats = self.word[layer]
            return vectors
        return add_directions(self.place if by == "place" else self.sentence, self.directions)


def checked_readout(by: str) -> Readout:
    if by not in get_args(Readout):
        raise ConfigError(f"by is {by!r}, but should be one of: {', '.join(get_args(Readout))}")
    return by  # type: ignore[return-value]


def read_uses(elmo: Elmo, places: Sequence[Place], lexicon: Lexicon | None = None) -> Uses:
    """The words in their sentences → what each readout says of them. Without a lexicon: no substitutes, no topics."""
    if elmo.state == "carry":
        raise ConfigError('uses of a word can be compared with the state "reset" or "warm" only, but it is "carry"')
    weights = WordWeights(elmo.vocabulary)
    config = elmo.config
    word = np.empty((config.layers + 1, len(places), config.width), np.float32)
    place = np.empty((len(places), config.width), np.float32)
    sentence = np.empty_like(place)
    encodings = elmo.stream(one.tokens for one in places)
    for number, (one, encoding) in enumerate(zip(places, encodings, strict=True)):
        word[:, number] = one.vectors(encoding.layers)
        place[number] = place_vector(encoding, one)
        sentence[number] = sentence_vector(encoding, one, weights)
    if lexicon is None:
        return Uses(word, place, sentence, None, None, 0.0, config.directions)
    topics, substitutes = lexicon.topics, lexicon.substitute_vectors(place)
    if topics is None:
        return Uses(word, place, sentence, substitutes, None, 0.0, config.directions)
    return Uses(word, place, sentence, substitutes, topics.around_all(places), topics.weight, config.directions)


def place_vector(encoding: Encoding, place: Place) -> Floats:
    """`Encoding.place`, of a place that may hold several tokens. [W]"""
    size = encoding.layers.shape[2] // encoding.directions
    vector: Floats = encoding.place[place.begin].copy()
    vector[size:] = encoding.place[place.end - 1, size:]
    return vector


def sentence_vector(encoding: Encoding, place: Place, weights: WordWeights) -> Floats:
    """The weighted mean of the top layer over all tokens but those of the place; zero where there are none. [W]"""
    weight = weights.of(encoding.tokens)  # [N]
    weight[place.begin : place.end] = 0
    mean: Floats = weight @ encoding.layers[-1] / max(float(weight.sum()), np.finfo(np.float32).tiny)
    return mean


class WordWeights:
    """How much a word weighs among those of a sentence: the rarer, the more. Without counts all weigh the same."""

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        counts = vocabulary.counts if vocabulary is not None else None
        self._find = vocabulary.find if vocabulary is not None and counts is not None else None
        self._weights = np.ones(0, np.float32)
        if counts is not None:
            shares = np.array(counts, np.float64) / max(1, sum(counts))
            self._weights = (HALF_WEIGHT / (HALF_WEIGHT + shares)).astype(np.float32)

    def of(self, tokens: Iterable[str]) -> Floats:
        """[N]"""
        if self._find is None:
            return np.ones(len(list(tokens)), np.float32)
        numbers = (self._find(token) for token in tokens)
        return np.array([1.0 if number is None else self._weights[number] for number in numbers], np.float32)


def _cosines(a: Floats, b: Floats) -> Floats:
    cosines: Floats = unit(a) @ unit(b).T
    return cosines
