"""Groups of uses, from how alike each two are: spectral clustering, with the number of groups chosen by modularity.

Uses are the nodes of a graph, similarities the weights of its edges. Modularity says how much more of the weight lies
within groups than chance would put there (Newman, 2006); the groups come from the leading eigenvectors of the
normalised graph (Ng et al., 2002). Same similarities, same groups. docs/senses.md compares other ways.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme.encoding import Floats, unit

Labels = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

MOST_GROUPS = 6
#: Fewer uses than this are no group of their own.
SMALLEST = 3
#: The modularity that every group beyond the first has to add. Few uses reach little more, even of two clear senses.
CLEAR = 0.02
RESTARTS = 6
ROUNDS = 50


def find_groups(similarity: Floats) -> Labels:
    """Similarities [n, n] → the group of each use, numbered from the largest group down."""
    edges = _edges(similarity)
    best, score = np.zeros(len(edges), np.int64), 0.0
    leading = leading_vectors(edges, MOST_GROUPS)  # [n, groups]
    for count in range(2, min(MOST_GROUPS, len(edges) // SMALLEST) + 1):
        labels = k_means(unit(leading[:, :count]), count)
        if np.bincount(labels, minlength=count).min() >= SMALLEST:
            found = modularity(edges, labels) - CLEAR * (count - 1)
            if found > score:
                best, score = labels, found
    return _by_size(best)


def modularity(edges: Doubles, labels: Labels) -> float:
    """The share of the weight within groups, less what chance would put there."""
    members = np.eye(int(labels.max()) + 1)[labels]  # [n, groups]
    total = max(float(edges.sum()), np.finfo(np.float64).tiny)
    within = np.einsum("ig,ij,jg->g", members, edges, members, optimize=True) / total
    degrees = edges.sum(axis=1) @ members / total
    return float((within - degrees**2).sum())


def leading_vectors(edges: Doubles, count: int) -> Floats:
    """The first eigenvectors of D^(−1/2) A D^(−1/2), the largest eigenvalue first. [n, count]"""
    degrees = np.sqrt(np.maximum(edges.sum(axis=1), 1e-12))
    _, vectors = np.linalg.eigh(edges / np.outer(degrees, degrees))
    leading = vectors[:, ::-1][:, :count]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])  # an eigenvector has none
    oriented: Floats = leading * signs
    return oriented


def k_means(vectors: Floats, count: int) -> Labels:
    """The best of several starts."""
    random = np.random.default_rng(0)
    found = [_one_k_means(vectors, count, random) for _ in range(RESTARTS)]
    return min(found, key=lambda pair: pair[1])[0]


def _edges(similarity: Floats) -> Doubles:
    """Nothing joins a use to itself, and nothing pushes two apart."""
    edges = np.maximum(np.asarray(similarity, np.float64), 0)
    np.fill_diagonal(edges, 0)
    return (edges + edges.T) / 2


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


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances. [n, m]"""
    found: Floats = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0)
    return found


def _by_size(labels: Labels) -> Labels:
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]
