"""Models of the golden files, for the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from helpers.reference.network import ReferenceBiLM


def read_hdf5(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    arrays = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return arrays


def read_model(folder: Path, weights: str = "weights.hdf5") -> ReferenceBiLM:
    return ReferenceBiLM(json.loads((folder / "options.json").read_text()), read_hdf5(folder / weights))
