"""Weights between numpy, which files and the engine use, and PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from polyseme.formats.arrays import Floats


def array_of(tensor: Tensor) -> Floats:
    """A copy in float32."""
    array: Floats = tensor.detach().to("cpu", torch.float32, copy=True).contiguous().numpy()
    return array


def tensors_of(arrays: Mapping[str, Floats]) -> dict[str, Tensor]:
    """Tensors for ``load_state_dict``; they share the memory of the arrays that are writable."""
    return {name: torch.from_numpy(np.require(array, requirements="W")) for name, array in arrays.items()}
