"""What else could stand in a word's place.

The two directions know the two sides of the place. If the sides are independent given the word, Bayes' rule puts them
together:

    p(w | left, right)  ∝  p(w | left) · p(w | right) / p(w)

Without the division a frequent word would be counted twice. p(w) comes from the counts of the vocabulary; where it has
none, from the rank of the word, with the log-uniform distribution that sampled softmax training assumes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.formats.output_layer import output_layer
from polyseme.lm.outputs import read
from polyseme.nn.softmax import SoftmaxWeights
from polyseme.target import read_target
from polyseme.text.tokenization import Sentence
from polyseme.text.vocabulary import SPECIALS, Vocabulary

Direction = Literal["both", "forward", "backward"]

#: Added to every count. The model knows little of a word that it met a few times; to divide by its tiny p(w) would put
#: such words on top. On held-out text it raised the probability of the words that stand there.
SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Substitute:
    """A word that could stand there."""

    word: str
    probability: float  #: among the words of the vocabulary, from the direction that was asked for
    forward: float  #: p(word | what stands before)
    backward: float | None  #: p(word | what stands after); None for a model that reads forward only


def substitutes(
    elmo: Elmo, text: str, k: int = 10, *, direction: Direction = "both", exclude_original: bool = False
) -> list[Substitute]:
    """The ``k`` likeliest words in the place of "[present]", the likeliest first.

    The words around the place decide, within its sentence; what stands between the brackets plays no part.
    ``exclude_original`` leaves it out of the list.
    """
    softmax, vocabulary = output_layer(elmo.stored)
    direction = _checked(elmo, direction, k)
    tokens, (begin, end) = find_place(elmo, text)
    (outputs,) = read(elmo, [tokens])
    ahead = _log_probabilities(outputs.forward[begin], softmax)  # position begin is the token before: <S> is position 0
    back = None if outputs.backward is None else _log_probabilities(outputs.backward[end + 1], softmax)
    joint = combine(ahead, back, log_prior(vocabulary), direction)  # [V]
    joint[[number for number, word in enumerate(vocabulary.words) if word in SPECIALS]] = -torch.inf
    joint = torch.log_softmax(joint, dim=0)
    if exclude_original and end - begin == 1 and (original := vocabulary.find(tokens[begin])) is not None:
        joint[original] = -torch.inf
    values, best = joint.topk(min(k, len(joint)))
    return [
        Substitute(
            word=vocabulary.words[number],
            probability=value.exp().item(),
            forward=ahead[number].exp().item(),
            backward=None if back is None else back[number].exp().item(),
        )
        for value, number in zip(values, best.tolist(), strict=True)
        if value > -torch.inf
    ]


def combine(forward: Tensor, backward: Tensor | None, prior: Tensor, direction: Direction) -> Tensor:
    """ln p(w | left), ln p(w | right), ln p(w) → ln p(w | what the direction sees), up to a constant. [V]"""
    if direction == "forward" or backward is None:
        return forward.clone()
    return backward.clone() if direction == "backward" else forward + backward - prior


def log_prior(vocabulary: Vocabulary) -> Tensor:
    """ln p(w) up to a constant. [V] float64"""
    if vocabulary.counts is not None:
        return torch.log(torch.tensor(vocabulary.counts, dtype=torch.float64) + SMOOTHING)
    rank = torch.arange(len(vocabulary), dtype=torch.float64)
    return torch.log(torch.log1p(1 / (rank + 1)))


def find_place(elmo: Elmo, text: str) -> tuple[list[str], tuple[int, int]]:
    """The tokens of the sentence with the mark, and which of them are marked: first and end."""
    plain, span = read_target(text)
    if span is None:
        raise InputError(f'no word is marked in {_shown(text)}; put one in brackets: "Live in the [present]."')
    marked = [(s, _overlap(s, span)) for s in elmo.split(plain)]
    marked = [(sentence, place) for sentence, place in marked if place is not None]
    if not marked:
        raise InputError(f"there is no word between the brackets of {_shown(text)}; write any word, such as [thing]")
    if len(marked) > 1:
        raise InputError(f"the brackets of {_shown(text)} reach over {len(marked)} sentences; mark one word")
    ((sentence, place),) = marked
    assert place is not None
    return sentence.tokens, place


def _overlap(sentence: Sentence, span: tuple[int, int]) -> tuple[int, int] | None:
    inside = [n for n, (begin, end) in enumerate(sentence.offsets) if begin < span[1] and end > span[0]]
    return (inside[0], inside[-1] + 1) if inside else None


def _log_probabilities(h: Tensor, softmax: SoftmaxWeights) -> Tensor:
    """[D] output of one direction → [V] float64"""
    return softmax.log_probabilities(h[None])[0].double()


def _checked(elmo: Elmo, direction: Direction, k: int) -> Direction:
    if direction not in get_args(Direction):
        raise ConfigError(f"direction is {direction!r}, but should be one of: {', '.join(get_args(Direction))}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k is {k!r}, but should be a whole number of at least 1")
    if direction == "backward" and not elmo.config.bidirectional:
        raise ConfigError('direction is "backward", but this model reads forward only')
    return direction


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else repr(text[:60]) + "…"
