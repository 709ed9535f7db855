"""MUC, B³ and CEAFφ4 of coreference chains, and their mean, as the CoNLL-2012 shared task defines them.

Each metric has a recall and a precision, whose numerators and denominators are summed over documents before the F1 is
taken. MUC counts links (Vilain et al., 1995), B³ the share of a mention's chain that is found (Bagga and Baldwin,
1998), CEAFφ4 the similarity 2·|a∩b| / (|a|+|b|) of chains under the best one-to-one alignment (Luo, 2005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from polyseme.extras import needing
from polyseme.tasks.scores import Floats

Mention = tuple[int, int]
Chain = Sequence[Mention]


@dataclass(frozen=True, slots=True)
class Shares:
    """Recall and precision as fractions, so that those of several documents can be added."""

    recall_part: float = 0.0
    recall_whole: float = 0.0
    precision_part: float = 0.0
    precision_whole: float = 0.0

    def __add__(self, other: Shares) -> Shares:
        return Shares(
            self.recall_part + other.recall_part,
            self.recall_whole + other.recall_whole,
            self.precision_part + other.precision_part,
            self.precision_whole + other.precision_whole,
        )

    @property
    def recall(self) -> float:
        return self.recall_part / self.recall_whole if self.recall_whole else 0.0

    @property
    def precision(self) -> float:
        return self.precision_part / self.precision_whole if self.precision_whole else 0.0

    @property
    def f1(self) -> float:
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def muc(predicted: Sequence[Chain], gold: Sequence[Chain]) -> Shares:
    """Links of a chain that the other side keeps: a chain of n mentions cut into p pieces keeps n − p."""
    return Shares(*_links(gold, predicted), *_links(predicted, gold))


def b_cubed(predicted: Sequence[Chain], gold: Sequence[Chain]) -> Shares:
    """For each mention, the share of its chain that is also in its chain on the other side."""
    return Shares(*_mention_shares(gold, predicted), *_mention_shares(predicted, gold))


def ceaf(predicted: Sequence[Chain], gold: Sequence[Chain]) -> Shares:
    """The similarity of chains, aligned one to one so that the sum is largest."""
    best = _best_alignment(predicted, gold) if predicted and gold else 0.0
    return Shares(best, len(gold), best, len(predicted))


METRICS: dict[str, Callable[[Sequence[Chain], Sequence[Chain]], Shares]] = {"muc": muc, "b3": b_cubed, "ceaf": ceaf}


def score_chains(documents: Iterable[tuple[Sequence[Chain], Sequence[Chain]]]) -> dict[str, float]:
    """(predicted, gold) chains of every document → percent: each metric's F1, recall, precision, and "conll"."""
    totals = dict.fromkeys(METRICS, Shares())
    for predicted, gold in documents:
        for name, metric in METRICS.items():
            totals[name] = totals[name] + metric(predicted, gold)
    scores = {"conll": 100 * sum(total.f1 for total in totals.values()) / len(totals)}
    for name, total in totals.items():
        scores |= {name: 100 * total.f1, f"{name}_recall": 100 * total.recall}
        scores |= {f"{name}_precision": 100 * total.precision}
    return scores


def chain_tally(predicted: Sequence[Chain], gold: Sequence[Chain]) -> tuple[float, ...]:
    """The fractions of one document for the three metrics in turn; they add up over documents."""
    return tuple(value for metric in METRICS.values() for value in astuple(metric(predicted, gold)))


def conll_of(sums: Floats) -> Floats:
    """Sums of such fractions [..., 12] → the mean F1 in percent [...]"""
    parts = sums.reshape(*sums.shape[:-1], len(METRICS), 4)
    recall = parts[..., 0] / np.maximum(parts[..., 1], 1)  # with nothing to find, the recall is 0
    precision = parts[..., 2] / np.maximum(parts[..., 3], 1)
    both = recall + precision
    f1 = np.divide(2 * recall * precision, both, out=np.zeros_like(both), where=both > 0)
    mean: Floats = 100 * f1.mean(axis=-1)
    return mean


def _chain_of(chains: Sequence[Chain]) -> dict[Mention, int]:
    return {mention: number for number, chain in enumerate(chains) for mention in chain}


def _links(chains: Sequence[Chain], others: Sequence[Chain]) -> tuple[float, float]:
    other, kept, whole = _chain_of(others), 0, 0
    for chain in chains:
        mentions = set(chain)
        pieces = {other.get(mention, (mention,)) for mention in mentions}  # one that is not found is its own piece
        kept += len(mentions) - len(pieces)
        whole += len(mentions) - 1
    return kept, whole


def _mention_shares(chains: Sequence[Chain], others: Sequence[Chain]) -> tuple[float, float]:
    other, part, whole = _chain_of(others), 0.0, 0
    for chain in chains:
        mentions = set(chain)
        overlaps = Counter(other[mention] for mention in mentions if mention in other)
        part += sum(count * count for count in overlaps.values()) / len(mentions)
        whole += len(mentions)
    return part, whole


def _best_alignment(predicted: Sequence[Chain], gold: Sequence[Chain]) -> float:
    with needing("CEAF, which aligns chains,", "tasks"):
        from scipy.optimize import linear_sum_assignment
    similarity = np.zeros((len(predicted), len(gold)))
    place = _chain_of(gold)
    for row, chain in enumerate(predicted):
        mentions = set(chain)
        for column, count in Counter(place[mention] for mention in mentions if mention in place).items():
            similarity[row, column] = 2 * count / (len(mentions) + len(set(gold[column])))
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return float(similarity[rows, columns].sum())
