"""Groups of vectors: k-means, with the number of groups that the silhouette likes best. Same vectors, same groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats

Labels = npt.NDArray[np.int64]

MOST_GROUPS = 6
#: Fewer vectors than this are no group of their own.
SMALLEST = 3
#: Below this mean silhouette the vectors are one cloud, not several.
CLEAR = 0.1
RESTARTS = 6
ROUNDS = 50


def find_groups(vectors: Floats) -> Labels:
    """The group of each vector [n, W], numbered from the largest group down."""
    vectors = _main_components(vectors)
    best, score = np.zeros(len(vectors), np.int64), CLEAR
    distances = np.sqrt(_squares(vectors, vectors))  # [n, n]
    for count in range(2, min(MOST_GROUPS, len(vectors) // SMALLEST) + 1):
        labels = k_means(vectors, count)
        if np.bincount(labels, minlength=count).min() >= SMALLEST and (found := silhouette(distances, labels)) > score:
            best, score = labels, found
    return _by_size(best)


def k_means(vectors: Floats, count: int) -> Labels:
    """The best of several starts."""
    random = np.random.default_rng(0)
    found = [_one_k_means(vectors, count, random) for _ in range(RESTARTS)]
    return min(found, key=lambda pair: pair[1])[0]


def silhouette(distances: Floats, labels: Labels) -> float:
    """How much nearer a vector is to its own group than to the next one, on average: from −1 to 1."""
    count = int(labels.max()) + 1
    members = np.eye(count)[labels]  # [n, groups]
    sizes = members.sum(axis=0)
    sums = distances @ members  # [n, groups]
    rows = np.arange(len(labels))
    own = sums[rows, labels] / np.maximum(sizes[labels] - 1, 1)
    means = sums / np.maximum(sizes, 1)
    means[rows, labels] = np.inf
    other = means.min(axis=1)
    return float(((other - own) / np.maximum(np.maximum(own, other), 1e-12)).mean())


def _one_k_means(vectors: Floats, count: int, random: np.random.Generator) -> tuple[Labels, float]:
    centres = _spread_out(vectors, count, random)
    labels = np.zeros(len(vectors), np.int64)
    for _ in range(ROUNDS):
        squares = _squares(vectors, centres)
        moved = squares.argmin(axis=1)
        if (moved == labels).all():
            break
        labels = moved
        kept = [number for number in range(count) if (labels == number).any()]
        centres[kept] = [vectors[labels == number].mean(axis=0) for number in kept]
    return labels, float(_squares(vectors, centres).min(axis=1).sum())


def _spread_out(vectors: Floats, count: int, random: np.random.Generator) -> Floats:
    """Starting points that are far from each other (k-means++)."""
    chosen = [int(random.integers(len(vectors)))]
    while len(chosen) < count:
        squares = _squares(vectors, vectors[chosen]).min(axis=1)
        total = squares.sum()
        chances = squares / total if total > 0 else None
        chosen.append(int(random.choice(len(vectors), p=chances)))
    return vectors[chosen].copy()


def _main_components(vectors: Floats, most: int = 16) -> Floats:
    """What the vectors differ in most; the rest is noise to a distance."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    reduced: Floats = (u * s)[:, :most]
    return reduced


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances. [n, m]"""
    found: Floats = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0)
    return found


def _by_size(labels: Labels) -> Labels:
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]
