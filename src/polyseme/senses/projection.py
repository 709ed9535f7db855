"""Vectors of all layers → one plane.

One projection serves every layer: principal components of the layers together, each layer around its own mean. What
all occurrences share in a layer is left out, so a point's way from layer to layer is what the context does to it; and
as the projection is linear, a mix of layers lies at the mix of their points.
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
