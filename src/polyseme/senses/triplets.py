"""How often a use of a word is nearer to a use in the same sense than to one in another sense: triplet accuracy.

    anchor          every use of the word
    positive        every other use in its sense
    negative        every use in another sense

A word's share is that of its triplets in which the positive is nearer than the negative, a tie counted half. So static
vectors, which are the same everywhere, reach one half by construction. Words count equally, however many uses they
have; the interval is a bootstrap over words, because words are what a sample of the language is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats

TIE = 1e-6  # similarities nearer than this are equal: they come from float32
RESAMPLES = 2000
SURE = 0.95  #: what share of the resamples lies in an interval


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval in which it lies for most samples like this one."""

    mean: float
    low: float
    high: float
    count: int


def triplet_accuracy(similarity: Floats, senses: Sequence[str]) -> float:
    """The similarities of a word's uses [n, n] and the sense of each → the share of triplets that are right."""
    names = np.asarray(senses)
    same = (names[:, None] == names) & ~np.eye(len(names), dtype=bool)  # [n, n]
    other = names[:, None] != names
    right = total = 0.0
    for anchor in range(len(names)):
        gaps = similarity[anchor, same[anchor]][:, None] - similarity[anchor, other[anchor]]  # [positives, negatives]
        right += float((gaps > TIE).sum() + 0.5 * (np.abs(gaps) <= TIE).sum())
        total += gaps.size
    if not total:
        raise ValueError("no triplet: a word needs two senses, and two uses of one of them")
    return right / total


def nearest_accuracy(similarity: Floats, senses: Sequence[str]) -> float:
    """The share of uses whose nearest other use has the same sense; of several equally near, the share of them."""
    names = np.asarray(senses)
    right = 0.0
    for number, row in enumerate(similarity):
        others = np.arange(len(row)) != number
        nearest = others & (row >= row[others].max() - TIE)
        right += float((names[nearest] == names[number]).mean())
    return right / len(names)


def mean_interval(values: Sequence[float] | npt.NDArray[np.float64], seed: int = 0) -> Interval:
    """The mean of some values with its bootstrap interval (percentiles); the same values give the same interval."""
    every = np.asarray(values, np.float64)
    drawn = np.random.default_rng(seed).integers(len(every), size=(RESAMPLES, len(every)))
    low, high = np.quantile(every[drawn].mean(axis=1), [(1 - SURE) / 2, (1 + SURE) / 2])
    return Interval(float(every.mean()), float(low), float(high), len(every))
