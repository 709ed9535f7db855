"""How well a language model predicts text it has not seen: exact, with the full softmax, in both directions.

A sentence of n tokens has n + 1 predictions in each direction: its tokens and the boundary at its end. The average
of both directions is the one bilm-tf prints and the paper reports: the exponential of the mean loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from polyseme.nn.softmax import target_log_probabilities
from polyseme.pretrain.batches import Batch, TypeTable, pack_sentences
from polyseme.pretrain.objective import LanguageModel, States, read_without_gradient, zero_states
from polyseme.pretrain.threads import Runner, one_after_the_other
from polyseme.text.indexing import Indexer
from polyseme.text.vocabulary import UNKNOWN, Vocabulary

#: Positions that are read together while evaluating; the result does not depend on it.
BATCH_POSITIONS = 4096


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Summed losses of a text, in nats, and what they are divided by."""

    forward: float = 0.0
    backward: float = 0.0
    predictions: int = 0  #: of one direction
    tokens: int = 0
    unknown: int = 0  #: tokens that are not in the vocabulary
    bytes: int = 0  #: UTF-8 bytes of the tokens and one blank or line end after each

    def __add__(self, other: Likelihood) -> Likelihood:
        return Likelihood(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def perplexities(self) -> tuple[float, float, float]:
        """Forward, backward, average."""
        count = max(1, self.predictions)
        return (
            math.exp(self.forward / count),
            math.exp(self.backward / count),
            math.exp((self.forward + self.backward) / (2 * count)),
        )

    @property
    def bits_per_byte(self) -> float:
        """Of the average of both directions; an unknown token costs what ``<UNK>`` costs."""
        return (self.forward + self.backward) / 2 / math.log(2) / max(1, self.bytes)

    @property
    def unknown_rate(self) -> float:
        return self.unknown / max(1, self.tokens)

    def to_dict(self) -> dict[str, float]:
        """The figures that people compare."""
        forward, backward, average = self.perplexities
        return {
            "forward": forward,
            "backward": backward,
            "average": average,
            "bits_per_byte": self.bits_per_byte,
            "tokens": self.tokens,
            "unknown_rate": self.unknown_rate,
        }


def evaluate(
    model: LanguageModel,
    sentences: Sequence[Sequence[str]],
    vocabulary: Vocabulary,
    indexer: Indexer,
    run: Runner = one_after_the_other,
) -> list[Likelihood]:
    """The likelihood of each sentence, from a zero state."""
    numbers: dict[str, int] = {}
    typed = [np.array([numbers.setdefault(t, len(numbers)) for t in s], np.int64) for s in sentences]
    table = TypeTable.of_tokens(list(numbers), vocabulary, indexer)
    unknown = vocabulary.ids([UNKNOWN])[0]
    results = [Likelihood()] * len(sentences)
    for chosen in batches_by_length([len(s) for s in sentences]):
        batch = pack_sentences(
            [typed[i] for i in chosen], table, directions=model.bilm.config.directions, share=slice(None)
        )
        losses, _ = target_losses(model, batch, zero_states(model.bilm, batch), run)
        sums = [_per_sequence(loss, batch.readings[0].sizes) for loss in losses]
        for row, i in enumerate(chosen):
            results[i] = Likelihood(
                forward=float(sums[0][row]),
                backward=float(sums[-1][row]),
                predictions=len(sentences[i]) + 1,
                tokens=len(sentences[i]),
                unknown=int((table.targets(typed[i]) == unknown).sum()),
                bytes=sum(len(t.encode("utf-8", "replace")) + 1 for t in sentences[i]),
            )
    return results


def batches_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of sentences that are read together, longest first."""
    batches: list[list[int]] = []
    room = 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or lengths[i] + 1 > room:
            batches.append([])
            room = BATCH_POSITIONS
        batches[-1].append(i)
        room -= lengths[i] + 1
    return batches


@torch.no_grad()
def target_losses(
    model: LanguageModel, batch: Batch, states: States, run: Runner = one_after_the_other
) -> tuple[list[Tensor], States]:
    """For each direction the negative log-probability of each target [R], and the states after the batch."""
    outputs, finals = read_without_gradient(model, batch, states, run)
    weight, bias = model.softmax_weight().detach(), model.softmax.bias.detach()

    def lose(direction: int) -> Tensor:
        return -target_log_probabilities(outputs[direction], weight, bias, batch.readings[direction].targets)

    return run([lambda d=d: lose(d) for d in range(len(outputs))]), finals  # type: ignore[misc]


def _per_sequence(values: Tensor, sizes: Sequence[int]) -> Tensor:
    """[R] packed values → [B] sums over each sequence, in float64."""
    sums = values.new_zeros(sizes[0], dtype=torch.float64)
    for step in torch.split(values, list(sizes)):
        sums[: len(step)] += step
    return sums
