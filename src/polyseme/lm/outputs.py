"""What the two directions say at each position of a sentence, ready for the softmax.

position          0     1    …   N    N + 1
token            <S>   w1    …   wN   </S>
forward[t]       predicts the token at t + 1        t = 0 … N
backward[t]      predicts the token at t − 1        t = 1 … N + 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Outputs:
    """The top layer of one sentence, boundaries included."""

    forward: Floats  # [N+2, D]
    backward: Floats | None  # [N+2, D]; None for a model that reads forward only


def read(elmo: Elmo, sentences: Sequence[Sequence[str]]) -> list[Outputs]:
    """Sentences of tokens → the outputs of each, which depend on nothing but the sentence."""
    if elmo.state == "carry":
        raise ConfigError(
            'probabilities should not depend on earlier calls, but state is "carry"; load the model with state "reset" '
            'or "warm"'
        )
    size = elmo.config.projection
    encoded = elmo.engine.encode(sentences, elmo.start(len(sentences)), keep_boundaries=True)  # [L+1, N+2, W] each
    top = [layers[-1] for layers in encoded]
    return [Outputs(h[:, :size], h[:, size:] if elmo.config.bidirectional else None) for h in top]
