"""The scalar mix and its two layer norms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from helpers.reference.network import Array


def batch_layer_norm(layer: Array, mask: NDArray[np.bool_], epsilon: float = 1e-12) -> Array:
    """One mean and one variance over all unmasked tokens and all features of the batch. layer [B, T, W]."""
    seen = layer[mask]
    normed: Array = (layer - seen.mean()) / np.sqrt(((seen - seen.mean()) ** 2).mean() + epsilon)
    return normed


def token_layer_norm(layer: Array, epsilon: float = 1e-12) -> Array:
    """Each vector by its own mean and variance, without gain or bias."""
    centred = layer - layer.mean(axis=-1, keepdims=True)
    normed: Array = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return normed


def mix(
    layers: Array, weights: Array, gamma: float, norm: str = "none", mask: NDArray[np.bool_] | None = None
) -> Array:
    """gamma · sum of softmax(weights)[l] · layers[l] over [L+1, B, T, W], each layer normed before if asked for."""
    shares = np.exp(weights) / np.exp(weights).sum()
    total = np.zeros(layers.shape[1:])
    for share, layer in zip(shares, layers, strict=True):
        if norm == "batch":
            assert mask is not None
            layer = batch_layer_norm(layer, mask)
        elif norm == "token":
            layer = token_layer_norm(layer)
        total = total + share * layer
    return gamma * total
