"""Vectors of all layers → one plane; similarities → another.

One projection serves every layer: principal components of the layers together, each layer around its own mean. What
all occurrences share in a layer is left out, so a point's way from layer to layer is what the context does to it; and
as the projection is linear, a mix of layers lies at the mix of their points.

A readout such as "sense" gives similarities, not vectors. Principal components need no more: those of the centred
similarity matrix (kernel PCA with this matrix, or classical scaling). docs/serve.md says how well it separates senses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyseme.encoding import Floats


@dataclass(frozen=True, eq=False)
class Plane:
    """Where a vector of a layer lies."""

    means: Floats  # [L+1, W]
    axes: Floats  # [W, 2]

    def place(self, layers: Floats) -> Floats:
        """[L+1, n, W] → [L+1, n, 2]"""
        points: Floats = np.matmul(layers - self.means[:, None], self.axes).astype(np.float32)
        return points


def fit_plane(layers: Floats) -> Plane:
    """The plane in which vectors [L+1, n, W] differ most, all layers together."""
    means = layers.mean(axis=1, dtype=np.float64)  # [L+1, W]
    centred = (layers - means[:, None]).reshape(-1, layers.shape[2])
    _, _, axes = np.linalg.svd(centred, full_matrices=False)  # [min, W]
    axes = np.concatenate([axes, np.zeros((2, axes.shape[1]))])[:2]  # a single vector has no second axis
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])  # else the picture may be its own mirror image
    return Plane(means.astype(np.float32), (axes * signs[:, None]).T.astype(np.float32))


@dataclass(frozen=True, eq=False)
class SimilarityPlane:
    """Where a use lies, given its similarities to the n uses that the plane was fitted to."""

    means: Floats  # [n]
    axes: Floats  # [n, 2]

    def place(self, similarity: Floats) -> Floats:
        """[m, n] → [m, 2]. One of the n uses lies where it lay."""
        centred = similarity - similarity.mean(axis=1, keepdims=True) - (self.means - self.means.mean())
        points: Floats = (centred @ self.axes).astype(np.float32)
        return points


def fit_similarity_plane(similarity: Floats, near: Floats) -> SimilarityPlane:
    """The plane in which uses with similarities [n, n] differ most, mirrored to lie near the points ``near`` [n, 2]."""
    even = np.asarray(similarity, np.float64)
    even = (even + even.T) / 2
    means = even.mean(axis=0)
    centred = even - means - means[:, None] + means.mean()
    values, vectors = np.linalg.eigh(centred)
    lengths = np.sqrt(np.maximum(values[::-1][:2], 0))
    known = lengths > 1e-6  # equal uses have no axis, a single use has no second one
    axes = np.zeros((len(even), 2))
    axes[:, : len(known)] = vectors[:, ::-1][:, :2] * known / np.where(known, lengths, 1)
    signs = np.where((centred @ axes * near).sum(axis=0) < 0, -1, 1)  # an eigenvector has none
    return SimilarityPlane(means.astype(np.float32), (axes * signs).astype(np.float32))
