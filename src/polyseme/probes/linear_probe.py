"""A linear probe: how well a multinomial logistic regression predicts labels from frozen vectors.

The vectors are not trained, so the probe can only know what they contain. All layers, each with several strengths of
regularisation, are trained at once on the same batches; dev decides the strength for each layer. The same data give the
same probe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from polyseme.errors import InputError
from polyseme.jobs.progress import working
from polyseme.probes.frozen import FrozenVectors, Halves, gather
from polyseme.tasks.treebank import TaggedSentence

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ProbeChoices:
    """How the regression is fitted: Adam on shuffled batches, with a cosine schedule down to zero."""

    decays: tuple[float, ...] = (0.0, 1e-4, 1e-3)  #: strengths of the L2 penalty on the weights
    steps: int = 2000  #: for any size of data; ten passes over 200,000 tokens
    batch: int = 1024  #: tokens
    rate: float = 0.1  #: initial rate; on GloVe, 0.01 ended 2 points below the optimum, 0.1 at it
    seed: int = 0


@dataclass(frozen=True)
class LinearProbe:
    """One regression for each layer."""

    labels: list[str]
    decays: tuple[float, ...]  #: the strength that was best on dev, by layer
    shift: Tensor  # [L, 1, W] mean of the training vectors
    scale: Tensor  # [L, 1, W] one over their standard deviation
    weight: Tensor  # [L, W, K]
    bias: Tensor  # [L, 1, K]

    def predict(self, vectors: Halves) -> Ids:
        """[L, N, W] → the number of the likeliest label. [L, N]"""
        parts = [_standard(block, self.shift, self.scale) @ self.weight + self.bias for block in _blocks(vectors)]
        return torch.cat([part.argmax(dim=2) for part in parts], dim=1).numpy()

    def accuracies(self, vectors: Halves, labels: Sequence[str]) -> list[float]:
        """The share of tokens that get the right label, by layer; labels not seen in training are never right."""
        gold = _ids(labels, self.labels)
        return [float(right.mean()) for right in self.predict(vectors) == gold]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The results of a probe on one tag set: accuracies by layer."""

    dev: list[float]
    test: list[float] | None
    decays: list[float]
    labels: int
    train_tokens: int


def probe_tags(
    vectors: FrozenVectors,
    train: Sequence[TaggedSentence],
    dev: Sequence[TaggedSentence],
    test: Sequence[TaggedSentence] | None = None,
    choices: ProbeChoices | None = None,
) -> ProbeResult:
    """Train on one split, choose on dev, and report dev and, if given, test."""
    train_vectors = gather(vectors, [s.tokens for s in train], "reading the training sentences")
    dev_vectors = gather(vectors, [s.tokens for s in dev], "reading the dev sentences")
    probe = train_probe(train_vectors, tags_of(train), dev_vectors, tags_of(dev), choices)
    tested = None
    if test is not None:
        test_vectors = gather(vectors, [s.tokens for s in test], "reading the test sentences")
        tested = probe.accuracies(test_vectors, tags_of(test))
    found = probe.accuracies(dev_vectors, tags_of(dev))
    return ProbeResult(found, tested, list(probe.decays), len(probe.labels), train_vectors.shape[1])


def tags_of(sentences: Sequence[TaggedSentence]) -> list[str]:
    """The tags of all words, sentence by sentence."""
    return [tag for sentence in sentences for tag in sentence.tags]


def train_probe(
    vectors: Halves,
    labels: Sequence[str],
    dev_vectors: Halves,
    dev_labels: Sequence[str],
    choices: ProbeChoices | None = None,
) -> LinearProbe:
    """Fit a probe to vectors [L, N, W] and their labels; dev chooses the regularisation of each layer."""
    choices = choices or ProbeChoices()
    if vectors.shape[1] != len(labels) or not labels:
        raise InputError(
            f"each vector needs a label, but there are {vectors.shape[1]} vectors and {len(labels)} labels"
        )
    known = sorted(set(labels))
    gold = torch.from_numpy(_ids(labels, known))
    shift, scale = _standardisation(vectors)
    weight, bias = _fit(vectors, gold, len(known), shift, scale, choices)  # [R, L, W, K], [R, L, 1, K]
    fitted = [
        LinearProbe(known, (decay,) * len(vectors), shift, scale, weight[number], bias[number])
        for number, decay in enumerate(choices.decays)
    ]
    found = np.array([probe.accuracies(dev_vectors, dev_labels) for probe in fitted])  # [R, L]
    best = found.argmax(axis=0).tolist()  # of equals, the weakest
    layers = torch.arange(len(vectors))
    chosen = tuple(choices.decays[number] for number in best)
    return LinearProbe(known, chosen, shift, scale, weight[best, layers], bias[best, layers])


def _fit(
    vectors: Halves, gold: Tensor, classes: int, shift: Tensor, scale: Tensor, choices: ProbeChoices
) -> tuple[Tensor, Tensor]:
    """Weights for each strength of regularisation and each layer. [R, L, W, K] and [R, L, 1, K]"""
    layers, count, width = vectors.shape
    strengths = torch.tensor(choices.decays).view(-1, 1, 1, 1)
    weight = torch.zeros(len(choices.decays), layers, width, classes, requires_grad=True)
    bias = torch.zeros(len(choices.decays), layers, 1, classes, requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=choices.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, choices.steps)
    with working("fitting the probe", choices.steps) as work:
        for batch in _batches(count, choices):
            inputs = _standard(vectors[:, batch.numpy()], shift, scale)  # [L, B, W]
            logits = torch.matmul(inputs, weight) + bias  # [R, L, B, K]
            targets = gold[batch].repeat(logits.shape[0] * logits.shape[1])
            loss = functional.cross_entropy(logits.flatten(0, 2), targets, reduction="sum") / len(batch)
            loss = loss + (strengths * weight.square()).sum() / 2
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            work.advance(1)
    return weight.detach(), bias.detach()


def _batches(count: int, choices: ProbeChoices) -> Iterator[Tensor]:
    """The tokens of each step: every token once in random order, then again in a new order."""
    chance = torch.Generator().manual_seed(choices.seed)
    size, steps = min(choices.batch, count), 0
    while steps < choices.steps:
        shuffled = torch.randperm(count, generator=chance)
        for start in range(0, count - size + 1, size)[: choices.steps - steps]:
            yield shuffled[start : start + size]
            steps += 1


def _standardisation(vectors: Halves) -> tuple[Tensor, Tensor]:
    """The mean of each feature of the training vectors, and one over its standard deviation. [L, 1, W] each"""
    count = vectors.shape[1]
    total = sum((block.double().sum(dim=1, keepdim=True) for block in _blocks(vectors)), torch.tensor(0.0))
    mean = total / count
    squares = sum(((block - mean).square().sum(dim=1, keepdim=True) for block in _blocks(vectors)), torch.tensor(0.0))
    return mean.float(), (squares / count).sqrt().clamp(min=1e-6).reciprocal().float()


def _standard(vectors: Halves | Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    block = vectors if isinstance(vectors, Tensor) else torch.from_numpy(vectors)
    return (block.float() - shift) * scale


def _blocks(vectors: Halves, size: int = 8192) -> list[Tensor]:
    return [torch.from_numpy(vectors[:, start : start + size]) for start in range(0, vectors.shape[1], size)]


def _ids(labels: Sequence[str], known: list[str]) -> Ids:
    """The number of each label; −1 for an unknown one."""
    numbers = {label: number for number, label in enumerate(known)}
    return np.array([numbers.get(label, -1) for label in labels], np.int64)
