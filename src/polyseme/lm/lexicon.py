"""How likely each word of a model's softmax is in a place, given its left and right context.

The two directions each see one side of the place. If the sides are independent given the word, Bayes' rule combines
them:

    p(w | left, right)  ∝  p(w | left) · p(w | right) / p(w)

Without the division, the frequency of a word would count twice. p(w) comes from the counts of the vocabulary or, if it
has none, from the word's rank by the log-uniform distribution that sampled softmax training assumes too.

The k largest numbers of a long row are found faster than by partitioning it: the row is divided into columns of 32
numbers. The k-th largest of the columns' maxima is at most the k-th largest number, so only the few hundred numbers
that reach it have to be examined again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.errors import ConfigError
from polyseme.formats.model import output_layer
from polyseme.lm.places import Place, find_place
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.lm.topics import Topics
from polyseme.lm.word_probabilities import in_blocks, log_probabilities, read_outputs
from polyseme.text.vocabulary import SPECIALS, Vocabulary

Direction = Literal["both", "forward", "backward"]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

#: Added to every count. The model knows little about a word that it has seen a few times, and dividing by its tiny
#: p(w) would put such words on top. On held-out text, it raised the probability of the actual words.
SMOOTHING = 10

#: `Lexicon.substitute_vectors` divides by p(w) to this power: that "one" and "time" fit nearly everywhere says little
#: about a place. Chosen on labelled words (docs/senses.md).
RARE_FIRST = 0.5
Ids = npt.NDArray[np.int32]

DEPTH = 32


@dataclass(frozen=True, slots=True)
class Substitute:
    """A word that fits a place."""

    word: str
    probability: float  #: among the words of the vocabulary, by the chosen direction
    forward: float  #: p(word | words before)
    backward: float | None  #: p(word | words after); None for a forward-only model


@dataclass(frozen=True, slots=True)
class LogProbabilities:
    """ln p of every word at P places, given the words before and given the words after."""

    forward: Doubles  # [P, V]
    backward: Doubles | None  # [P, V]

    def __getitem__(self, places: slice) -> LogProbabilities:
        return LogProbabilities(self.forward[places], None if self.backward is None else self.backward[places])


class SeveralMarked(UserWarning):
    """A place of several words or morphemes, where one word would replace them all."""


class Lexicon:
    """The words of a model's softmax, with everything that is computed once for all places."""

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self._softmax, vocabulary = output_layer(elmo.stored)
        self.words = vocabulary.words
        self.find = vocabulary.find
        self._prior = log_prior(vocabulary)  # [V]
        self._specials = [number for number, word in enumerate(self.words) if word in SPECIALS]

    @cached_property
    def _weight(self) -> Floats:
        """[V, D]"""
        return np.asarray(self._softmax.weight, np.float32)

    @cached_property
    def _joint_bias(self) -> Floats:
        """The part of each word's joint logit that does not depend on the states. [V]"""
        bias = np.asarray(self._softmax.bias, np.float64)
        joint = 2 * bias - self._prior if self._elmo.config.bidirectional else bias.copy()
        joint[self._specials] = -np.inf
        return (joint - RARE_FIRST * self._prior).astype(np.float32)

    @cached_property
    def rows(self) -> Floats:
        """Every word's row in the softmax, minus the mean row, with length one. [V, D]"""
        return unit(self._weight - self._weight.mean(axis=0))

    def nearness(self, word: str) -> Floats:
        """The cosine of every word's row in the softmax with the row of ``word``, both minus the mean row. [V]

        Words that the model expects in the same places have similar rows. Zeros for an unknown word.
        """
        number = self.find(word)
        if number is None:
            return np.zeros(len(self.words), np.float32)
        cosines: Floats = self.rows @ self.rows[number]
        return cosines

    @cached_property
    def topics(self) -> Topics | None:
        """The topics of words; None if no map was learned for the model."""
        return Topics.of(self, self._elmo.stored.fingerprint())

    @property
    def shares(self) -> Doubles:
        """p(w), smoothed; without counts, by rank. [V]"""
        likely = np.exp(self._prior)
        shares: Doubles = likely / likely.sum()
        return shares

    def frequent(self, count: int) -> npt.NDArray[np.int64]:
        """The ids of the most frequent words, the most frequent first."""
        return np.argsort(-self._prior, kind="stable")[:count]

    def states(self, places: Sequence[Place]) -> Floats:
        """The context of each place: the forward state before it and the backward state after it. [P, W]"""
        outputs = read_outputs(self._elmo, [place.tokens for place in places])
        size = self._elmo.config.projection
        states = np.empty((len(places), self._elmo.config.width), np.float32)
        for row, place, output in zip(states, places, outputs, strict=True):
            row[:size] = output.forward[place.begin]  # position begin is that of the token before
            if output.backward is not None:
                row[size:] = output.backward[place.end + 1]
        return states

    def log_probabilities(self, places: Sequence[Place]) -> LogProbabilities:
        states, size = self.states(places), self._elmo.config.projection
        back = states[:, size:]
        return LogProbabilities(self._log_softmax(states[:, :size]), self._log_softmax(back) if back.size else None)

    def distributions(self, found: LogProbabilities, direction: Direction = "both") -> Doubles:
        """ln p of every word but the boundaries and <UNK>, given what the direction sees. [P, V]"""
        joint = self._combine(found, direction)
        joint[:, self._specials] = -np.inf
        joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return joint

    def likeliest(
        self, found: LogProbabilities, k: int, direction: Direction, without: str | None = None
    ) -> list[Substitute]:
        """The ``k`` likeliest words of one place, likeliest first, leaving out ``without``."""
        joint = self.distributions(found, direction)[0]  # [V]
        if without is not None and (number := self.find(without)) is not None:
            joint[number] = -np.inf
        least = np.partition(joint, max(0, len(joint) - k))[max(0, len(joint) - k)]
        among = np.flatnonzero(joint >= least)  # sorting all words would take most of the time
        best = among[np.argsort(-joint[among], kind="stable")[:k]]
        return [
            Substitute(
                word=self.words[number],
                probability=float(np.exp(joint[number])),
                forward=float(np.exp(found.forward[0, number])),
                backward=None if found.backward is None else float(np.exp(found.backward[0, number])),
            )
            for number in best.tolist()
            if joint[number] > -np.inf
        ]

    def substitute_vectors(self, states: Floats) -> SubstituteVectors:
        """The states of n places [n, W] → the likeliest words of each, with frequent words weighted down (RARE_FIRST).

        Both directions share the softmax, so one product with the sum of the two states gives every word's joint logit;
        the normaliser is the same for all words of a place and cancels out.
        """
        parts: dict[int, SubstituteVectors] = {}

        def compute(rows: slice) -> None:
            parts[rows.start] = self._substitute_vectors(states[rows])

        in_blocks(compute, len(states), self._elmo.engine.pool)
        return SubstituteVectors.join([parts[start] for start in sorted(parts)], len(self.words))

    def _substitute_vectors(self, states: Floats) -> SubstituteVectors:
        joint = self.fits(states)
        return SubstituteVectors.of_logits(*largest_in_rows(joint, SubstituteVectors.SIZE), len(self.words))

    def fits(self, states: Floats) -> Floats:
        """How well every word fits, as a logit up to a constant for each place, from the states [n, W]. [n, V]"""
        size = self._elmo.config.projection
        if self._softmax.clusters is not None:  # not linear in the states
            found = LogProbabilities(
                self._log_softmax(states[:, :size]),
                self._log_softmax(states[:, size:]) if states.shape[1] > size else None,
            )
            return (self.distributions(found) - RARE_FIRST * self._prior).astype(np.float32)
        both = states.reshape(len(states), -1, size).sum(axis=1)  # [n, D]
        joint: Floats = both @ self._weight.T
        joint += self._joint_bias
        return joint

    def _log_softmax(self, h: Floats) -> Doubles:
        """[P, D] → [P, V]"""
        return log_probabilities(self._softmax, h, self._elmo.engine.pool).astype(np.float64)

    def _combine(self, found: LogProbabilities, direction: Direction) -> Doubles:
        """ln p(w | what the direction sees), up to a constant. [P, V]"""
        if direction == "forward" or found.backward is None:
            return found.forward.copy()
        return found.backward.copy() if direction == "backward" else found.forward + found.backward - self._prior


def log_prior(vocabulary: Vocabulary) -> Doubles:
    """ln p(w) up to a constant. [V]"""
    if vocabulary.counts is not None:
        return np.log(np.array(vocabulary.counts, np.float64) + SMOOTHING)
    return np.log(np.log1p(1 / (np.arange(len(vocabulary)) + 1)))


def largest_in_rows(rows: Floats, k: int) -> tuple[Ids, Floats]:
    """[n, V] → columns and values of the ``k`` largest numbers of each row, largest first. [n, k] each

    A row shorter than ``k`` is returned whole. Of equal numbers, the earlier comes first.
    """
    k = min(k, rows.shape[1])
    places, values = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    for number, least in enumerate(_lower_bounds(rows, k)):
        there = np.flatnonzero(rows[number] >= least)
        found = rows[number, there]
        order = np.argsort(-found, kind="stable")[:k]
        places[number], values[number] = there[order], found[order]
    return places, values


def _lower_bounds(rows: Floats, k: int) -> Floats:
    """For each row, a lower bound of its k-th largest number. [n]"""
    width = rows.shape[1] // DEPTH
    if width < k:
        return np.full(len(rows), -np.inf, np.float32)
    maxima = rows[:, : width * DEPTH].reshape(len(rows), DEPTH, width).max(axis=1)
    bounds: Floats = np.partition(maxima, width - k, axis=1)[:, width - k]
    return bounds


def substitutes(
    elmo: Elmo, text: str, k: int = 10, *, direction: Direction = "both", exclude_original: bool = False
) -> list[Substitute]:
    """The ``k`` likeliest words in the place of "[present]", likeliest first.

    Only the other words of the sentence count, not the word in brackets. ``exclude_original`` leaves that word out of
    the list.
    """
    lexicon = elmo.lexicon
    _check(elmo, direction, k)
    place = find_place(elmo, text)
    elmo.warn_of_script(text)
    if place.word is None:
        marked = place.tokens[place.begin : place.end]
        warnings.warn(
            f"the brackets hold {len(marked)} units ({', '.join(marked)}), and one word is put in their place; "
            f"mark one of them, for example [{marked[0]}]",
            SeveralMarked,
            stacklevel=2,
        )
    without = place.word if exclude_original else None
    return lexicon.likeliest(lexicon.log_probabilities([place]), k, direction, without)


def _check(elmo: Elmo, direction: Direction, k: int) -> None:
    if direction not in get_args(Direction):
        raise ConfigError(f"direction is {direction!r}, but should be one of: {', '.join(get_args(Direction))}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k is {k!r}, but should be a whole number of at least 1")
    if direction == "backward" and not elmo.config.bidirectional:
        raise ConfigError('direction is "backward", but this model reads forward only')
