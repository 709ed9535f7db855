"""How well two groupings of the same items agree: adjusted Rand index, V-measure, paired F-score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


def contingency(gold: Sequence[object], found: Sequence[object]) -> Doubles:
    """How many items are in each pair of groups, one from either grouping."""
    rows, columns = (np.unique(list(one), return_inverse=True)[1] for one in (gold, found))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    return table


def adjusted_rand(table: Doubles) -> float:
    """1 for equal groupings, 0 on average for random ones (Hubert and Arabie, 1985)."""
    both, gold, found = (_pairs(one).sum() for one in (table, table.sum(axis=1), table.sum(axis=0)))
    chance = gold * found / max(1.0, float(_pairs(table.sum())))
    most = (gold + found) / 2
    return 1.0 if most == chance else float((both - chance) / (most - chance))


def v_measure(table: Doubles) -> float:
    """The harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg, 2007)."""
    gold, found, joint = (_entropy(one.ravel()) for one in (table.sum(axis=1), table.sum(axis=0), table))
    shared = gold + found - joint
    homogeneity, completeness = shared / gold if gold else 1.0, shared / found if found else 1.0
    total = homogeneity + completeness
    return float(2 * homogeneity * completeness / total) if total > 0 else 0.0


def paired_f(table: Doubles) -> float:
    """F-score of the pairs of items in the same group (Manandhar et al., 2010)."""
    both, gold, found = (_pairs(one).sum() for one in (table, table.sum(axis=1), table.sum(axis=0)))
    return float(2 * both / max(1.0, gold + found))


def _pairs(counts: npt.ArrayLike) -> Doubles:
    every = np.asarray(counts, np.float64)
    pairs: Doubles = every * (every - 1) / 2
    return pairs


def _entropy(counts: Doubles) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
