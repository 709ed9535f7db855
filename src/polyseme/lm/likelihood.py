"""The likelihood of a text: summed log-probabilities of its tokens, and the measures that people compare.

A sentence of n tokens has n + 1 predictions in each direction: its tokens, and the boundary where the direction ends.

perplexity       exp(−ln p / predictions) for one direction; for both, the exponential of the mean loss, as printed by
                 bilm-tf and reported in the paper
bits per byte    −log2 p / bytes, which allows comparing models with different words and units
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Summed log-probabilities (nats), and the counts to divide by. Likelihoods of parts add up to that of a text."""

    forward: float = 0.0
    backward: float | None = 0.0  #: None for a model that reads forward only
    predictions: int = 0  #: in one direction
    tokens: int = 0
    unknown: int = 0  #: tokens outside the vocabulary; each is scored as ``<UNK>``
    bytes: int = 0  #: UTF-8 bytes of the text, plus one for the end of each sentence

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
        """The perplexity of both directions together."""
        return self._perplexity(self._mean)

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of both directions together."""
        return -self._mean / math.log(2) / max(1, self.bytes)

    @property
    def unknown_rate(self) -> float:
        return self.unknown / max(1, self.tokens)

    def to_dict(self) -> dict[str, float | None]:
        """The counts and measures, for JSON."""
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
    """The number of bytes that a sentence counts in bits per byte: its UTF-8 bytes, plus one for its end."""
    return len(sentence.encode("utf-8", "replace")) + 1
