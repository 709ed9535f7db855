"""How likely each word of a model's softmax is in a place, by what stands before it and after it.

The two directions know the two sides of the place. If the sides are independent given the word, Bayes' rule puts them
together:

    p(w | left, right)  ∝  p(w | left) · p(w | right) / p(w)

Without the division a frequent word would be counted twice. p(w) comes from the counts of the vocabulary; where it has
none, from the rank of the word, with the log-uniform distribution that sampled softmax training assumes too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from polyseme.elmo import Elmo
from polyseme.formats.output_layer import output_layer
from polyseme.lm.outputs import read
from polyseme.lm.places import Place
from polyseme.text.vocabulary import SPECIALS, Vocabulary

Direction = Literal["both", "forward", "backward"]

#: Added to every count. The model knows little of a word that it met a few times; to divide by its tiny p(w) would put
#: such words on top. On held-out text it raised the probability of the words that stand there.
SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Substitute:
    """A word that could stand in a place."""

    word: str
    probability: float  #: among the words of the vocabulary, from the direction that was asked for
    forward: float  #: p(word | what stands before)
    backward: float | None  #: p(word | what stands after); None for a model that reads forward only


@dataclass(frozen=True, slots=True)
class LogProbabilities:
    """ln p of every word at P places, given what stands before and what stands after."""

    forward: Tensor  # [P, V] float64
    backward: Tensor | None  # [P, V] float64

    def __getitem__(self, places: slice) -> LogProbabilities:
        return LogProbabilities(self.forward[places], None if self.backward is None else self.backward[places])


class Lexicon:
    """The words of a model's softmax, with what is computed once for all places."""

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self._softmax, vocabulary = output_layer(elmo.stored)
        self.words = vocabulary.words
        self.find = vocabulary.find
        self._prior = log_prior(vocabulary)  # [V]
        self._specials = [number for number, word in enumerate(self.words) if word in SPECIALS]

    def log_probabilities(self, places: Sequence[Place]) -> LogProbabilities:
        outputs = read(self._elmo, [place.tokens for place in places])
        ahead = [o.forward[p.begin] for o, p in zip(outputs, places, strict=True)]  # position begin is the token before
        forward = self._softmax.log_probabilities(torch.stack(ahead)).double()
        back = [o.backward[p.end + 1] for o, p in zip(outputs, places, strict=True) if o.backward is not None]
        return LogProbabilities(forward, self._softmax.log_probabilities(torch.stack(back)).double() if back else None)

    def distributions(self, found: LogProbabilities, direction: Direction = "both") -> Tensor:
        """ln p of every word but the boundaries and <UNK>, from what the direction sees. [P, V]"""
        joint = self._combine(found, direction)
        joint[:, self._specials] = -torch.inf
        return torch.log_softmax(joint, dim=1)

    def likeliest(
        self, found: LogProbabilities, k: int, direction: Direction, without: str | None = None
    ) -> list[Substitute]:
        """The ``k`` likeliest words of one place, the likeliest first; ``without`` is left out."""
        joint = self.distributions(found, direction)[0]  # [V]
        if without is not None and (number := self.find(without)) is not None:
            joint[number] = -torch.inf
        values, best = joint.topk(min(k, len(joint)))
        return [
            Substitute(
                word=self.words[number],
                probability=value.exp().item(),
                forward=found.forward[0, number].exp().item(),
                backward=None if found.backward is None else found.backward[0, number].exp().item(),
            )
            for value, number in zip(values, best.tolist(), strict=True)
            if value > -torch.inf
        ]

    def _combine(self, found: LogProbabilities, direction: Direction) -> Tensor:
        """ln p(w | what the direction sees), up to a constant. [P, V]"""
        if direction == "forward" or found.backward is None:
            return found.forward.clone()
        return found.backward.clone() if direction == "backward" else found.forward + found.backward - self._prior


def log_prior(vocabulary: Vocabulary) -> Tensor:
    """ln p(w) up to a constant. [V] float64"""
    if vocabulary.counts is not None:
        return torch.log(torch.tensor(vocabulary.counts, dtype=torch.float64) + SMOOTHING)
    rank = torch.arange(len(vocabulary), dtype=torch.float64)
    return torch.log(torch.log1p(1 / (rank + 1)))
