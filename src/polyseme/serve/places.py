"""What could stand in several places at once: ``polyseme.lm.substitutes`` for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.elmo import Elmo
from polyseme.formats.output_layer import output_layer
from polyseme.lm.outputs import read
from polyseme.lm.substitutes import Direction, Substitute, combine, log_prior
from polyseme.text.vocabulary import SPECIALS


@dataclass(frozen=True, slots=True)
class Place:
    """Tokens ``begin`` to ``end`` of a sentence, which other words could take."""

    tokens: Sequence[str]
    begin: int
    end: int


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
        joint = combine(found.forward, found.backward, self._prior, direction)
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
