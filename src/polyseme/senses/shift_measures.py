"""How far the uses of a word in two texts lie apart, from how alike each two are: three measures, with their chance.

    S            [n, n]   how alike each two uses are, 1 for the same; those before come first
    APD          1 − the mean of S over pairs of one use before and one after       (average pairwise distance)
    prototypes   1 − the cosine of the two means, which S tells too: the mean of S across the texts over the root of the
                 product of the means within each
    JSD          the Jensen–Shannon distance of the shares that each group of uses has before and after; 0 to 1

A measure alone says little: the uses of a word with many senses lie far apart in any two texts. So each measure comes
with what chance gives. If the two texts used the word alike, it would not matter which text a use is from: the texts
are shuffled, and p is the share of shuffles that look as changed as the truth. Uses in one document are alike in any
case, so documents are shuffled and drawn as a whole (blocks). Intervals are basic bootstraps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats
from polyseme.senses.clusters import Labels
from polyseme.senses.labelled import SURE

Doubles = npt.NDArray[np.float64]
ShiftMeasure = Literal["APD", "prototypes", "JSD"]
MEASURES: tuple[ShiftMeasure, ...] = get_args(ShiftMeasure)
SHUFFLES, RESAMPLES = 999, 500
#: A shuffle whose value is nearer than this to the truth looks as changed: sums in another order differ in last bits.
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of one word."""

    value: float
    low: float  #: of the 95 % interval
    high: float
    chance: float  #: its mean over shuffles: what it would be without any change
    p: float  #: the share of shuffles that give as much

    @property
    def excess(self) -> float:
        """What chance does not explain."""
        return self.value - self.chance


def measure_shift(
    similarity: Floats, labels: Labels, before: int, blocks: Sequence[int], *, seed: int | Sequence[int] = 0
) -> dict[ShiftMeasure, Measured]:
    """``similarity`` [n, n] and the group of each use [n], the first ``before`` from the text before; ``blocks``: the
    document of each use. The same input and seed give the same figures.
    """
    if not 0 < before < len(similarity):
        raise ValueError("a shift needs uses in both texts")
    similar = np.asarray(similarity, np.float64)
    groups = np.eye(int(labels.max()) + 1)[labels]  # [n, groups]
    random = np.random.default_rng(seed)
    is_before = np.arange(len(similar)) < before
    truth = _measures(similar, groups, is_before[None].astype(float), (~is_before)[None].astype(float))
    members = _as_blocks(blocks, is_before)
    shuffled = _measures(similar, groups, *_shuffle(members, is_before, random))
    drawn = _measures(similar, groups, *_resample(members, is_before, random))
    return {name: _measured(float(truth[name][0]), shuffled[name], drawn[name]) for name in MEASURES}


def _measured(value: float, shuffled: Doubles, drawn: Doubles) -> Measured:
    low, high = np.quantile(drawn, [(1 - SURE) / 2, (1 + SURE) / 2])
    return Measured(
        value=value,
        low=float(np.clip(2 * value - high, 0, value)),
        high=float(np.clip(2 * value - low, value, 2)),
        chance=float(shuffled.mean()),
        p=float((1 + (shuffled >= value - SAME).sum()) / (1 + len(shuffled))),
    )


def _measures(similar: Doubles, groups: Doubles, before: Doubles, after: Doubles) -> dict[ShiftMeasure, Doubles]:
    """How often each use counts before and after, [m, n] each → each measure [m]."""
    before, after = (weights / weights.sum(axis=1, keepdims=True) for weights in (before, after))
    across = _between(similar, before, after)
    within = _between(similar, before, before) * _between(similar, after, after)
    cosine = across / np.sqrt(np.maximum(within, 1e-12))
    return {
        "APD": 1 - across,
        "prototypes": np.maximum(0.0, 1 - cosine),
        "JSD": _jensen_shannon(before @ groups, after @ groups),
    }


def _between(similar: Doubles, one: Doubles, other: Doubles) -> Doubles:
    """Weighted means of S. [m]"""
    found: Doubles = ((one @ similar) * other).sum(axis=1)
    return found


def _jensen_shannon(one: Doubles, other: Doubles) -> Doubles:
    """The distance of shares [m, groups] each: the root of the divergence, in bits. [m]"""
    middle = (one + other) / 2
    divergence = _entropy(middle) - (_entropy(one) + _entropy(other)) / 2
    found: Doubles = np.sqrt(np.clip(divergence, 0, 1))
    return found


def _entropy(shares: Doubles) -> Doubles:
    safe = np.where(shares > 0, shares, 1)
    found: Doubles = -(shares * np.log2(safe)).sum(axis=1)
    return found


def _as_blocks(blocks: Sequence[int], is_before: npt.NDArray[np.bool_]) -> Doubles:
    """Which uses each block has, those of the text before first. [blocks, n]"""
    pairs = [(not early, block) for early, block in zip(is_before.tolist(), blocks, strict=True)]
    numbers = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
    members = np.zeros((len(numbers), len(pairs)))
    members[[numbers[pair] for pair in pairs], np.arange(len(pairs))] = 1
    return members


def _shuffle(
    members: Doubles, is_before: npt.NDArray[np.bool_], random: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """The texts as chance would put them together: as many blocks each as in truth. [SHUFFLES, n] each"""
    early = int((members @ is_before > 0).sum())
    order = random.random((SHUFFLES, len(members))).argsort(axis=1).argsort(axis=1)
    before = (order < early) @ members
    return before, 1 - before


def _resample(
    members: Doubles, is_before: npt.NDArray[np.bool_], random: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Blocks drawn anew from each text, with replacement. [RESAMPLES, n] each"""
    early = int((members @ is_before > 0).sum())
    drawn = []
    for part in (members[:early], members[early:]):
        times = random.multinomial(len(part), np.full(len(part), 1 / len(part)), size=RESAMPLES)
        drawn.append(times @ part)
    return drawn[0], drawn[1]


def false_discovery(ps: Sequence[float]) -> list[float]:
    """p of many words → q: if all words with q below 0.05 are called changed, 5 % of them are expected not to be.

    (Benjamini and Hochberg, 1995.)
    """
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, np.float64)[order] * len(ps) / np.arange(1, len(ps) + 1)
    found = np.empty(len(ps))
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return [float(q) for q in found]
