"""How likely a text is: the log-probabilities of what was predicted, summed, and the figures that people compare.

A sentence of n tokens has n + 1 predictions in each direction: its tokens, and the boundary that the direction ends at.

perplexity       exp(−ln p / predictions) of one direction; of both, the exponential of the mean loss, which is what
                 bilm-tf prints and the paper reports
bits per byte    −log2 p / bytes, so that models with other words and other units can be compared
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Summed log-probabilities (nats), and what they are divided by. Likelihoods of parts add up to that of a text."""

    forward: float = 0.0
    backward: float | None = 0.0  #: None for a model that reads forward only
    predictions: int = 0  #: of one direction
    tokens: int = 0
    unknown: int = 0  #: tokens that are not in the vocabulary: each costs what ``<UNK>`` costs
    bytes: int = 0  #: UTF-8 bytes of the text as it is written, and one for the end of each sentence

    def __add__(self, other: Likelihood) -> Likelihood:
        backward = None if self.backward is None or other.backward is None else self.backward + other.backward
        counts = (getattr(self, one.name) + getattr(other, one.name) for one in fields(self)[2:])
        return Likelihood(self.forward + other.forward, backward, *counts)

    @property
    def perplexities(self) -> tuple[float, float | None]:
        """Forward and backward."""
        return self._perplexity(self.forward), None if self.backward is None else self._perplexity(self.backward)

    @property
    def perplexity(self) -> float:
        """The average of both directions."""
        return self._perplexity(self._mean)

    @property
    def bits_per_byte(self) -> float:
        """Of the average of both directions."""
        return -self._mean / math.log(2) / max(1, self.bytes)

    @property
    def unknown_rate(self) -> float:
        return self.unknown / max(1, self.tokens)

    def to_dict(self) -> dict[str, float | None]:
        """The figures that people compare."""
        forward, backward = self.perplexities
        return {
            "forward": forward,
            "backward": backward,
            "average": self.perplexity,
            "bits_per_byte": self.bits_per_byte,
            "tokens": self.tokens,
            "unknown_rate": self.unknown_rate,
        }

    @property
    def _mean(self) -> float:
        return self.forward if self.backward is None else (self.forward + self.backward) / 2

    def _perplexity(self, log_probability: float) -> float:
        loss = -log_probability / max(1, self.predictions)
        return math.exp(loss) if loss < 700 else math.inf


def written_bytes(sentence: str) -> int:
    """What a sentence counts for in bits per byte: its bytes, and one for its end."""
    return len(sentence.encode("utf-8", "replace")) + 1
