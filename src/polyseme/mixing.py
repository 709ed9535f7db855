"""The layers of a text, mixed into one vector per token, for everything that runs on arrays.

mixed[n] = sum over l of weights[l] * layers[l, n]      (Peters et al., 2018, eq. 1; the scale is in the weights)

Vectors in Python, in files, over HTTP and in searches all come from here, so they have the same bits. ``nn/mix.py`` is
the same formula with learned weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import ConfigError

Mix = Sequence[float] | int | str | None


def mixed(layers: npt.NDArray[np.floating[Any]], weights: Sequence[float]) -> npt.NDArray[Any]:
    """[L+1, …, W] → [..., W], in float64 if the layers are, else float32; added from layer 0 up, skipping weight 0."""
    kind = np.result_type(layers.dtype, np.float32)
    found = np.zeros(layers.shape[1:], dtype=kind)
    for weight, layer in zip(weights, layers, strict=True):
        if weight:
            found += kind.type(weight) * layer
    return found


def mix_weights(mix: Mix, layers: int) -> tuple[float, ...]:
    """One weight per layer: uniform for None, all 1 for "sum", one-hot for a number or "top", or the weights given."""
    if mix is None:
        return (1 / layers,) * layers
    if isinstance(mix, str) and mix == "sum":
        return (1.0,) * layers
    layer = layers - 1 if isinstance(mix, str) and mix == "top" else mix
    if isinstance(layer, int) and not isinstance(layer, bool) and -layers <= layer < layers:
        return tuple(float(number == layer % layers) for number in range(layers))
    try:
        weights = tuple(map(float, layer))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        weights = ()
    if not weights or not all(map(math.isfinite, weights)):
        raise ConfigError(
            f"mix is {mix!r}, but should be a layer from 0 to {layers - 1}, 'top', 'sum', or {layers} weights"
        )
    if len(weights) != layers:
        raise ConfigError(
            f"mix has {len(weights)} weights, but the model has {layers} layers, the token layer included"
        )
    return weights
