"""What all golden tests share: where the files are, reading as the originals read, and one comparison."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paths import COMMITTED, FIXTURES, needs
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLM, BiLMOutput

TOLERANCE = 1e-5

#: The largest difference of each family, printed at the end of a run.
DIFFERENCES: dict[str, float] = {}


#: What NLPL's models come in, by the names of their golden files.
CONTAINERS = {
    "with_vocab": "with_vocab.zip",
    "without_vocab": "without_vocab.zip",
    "maxchars16": "maxchars16.zip",
    "folder_other_name": "folder_other_name",
}


def golden(name: str) -> Path:
    """A golden file: all of them lie beside the checkout, the small ones that every test run needs in it."""
    return COMMITTED / "formats" / name if (COMMITTED / "formats" / name).exists() else FIXTURES / name


def apart(model: Path, folder: Path) -> tuple[Path, Path]:
    """The weights and the options of an HDF5 model, in two folders of their own."""
    weights, options = folder / "weights" / "weights.hdf5", folder / "options" / "settings.json"
    for source, target in ((model / "weights.hdf5", weights), (model / "options.json", options)):
        target.parent.mkdir()
        shutil.copyfile(source, target)
    return weights, options


def files(*names: str) -> list[Any]:
    """Parameters of a test; those that are not committed skip where they are not beside the checkout."""
    return [
        pytest.param(name, id=name.rsplit("/", 1)[-1])
        if (COMMITTED / "formats" / name).exists()
        else pytest.param(name, id=name.rsplit("/", 1)[-1], marks=[pytest.mark.shared, needs(FIXTURES / name)])
        for name in names
    ]


def assert_same_as_golden(found: Any, expected: Any, family: str, tolerance: float = TOLERANCE) -> None:
    """Equal shapes, and no value further away than the tolerance."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    difference = float(np.abs(found.astype(np.float64) - expected).max(initial=0))
    DIFFERENCES[family] = max(DIFFERENCES.get(family, 0.0), difference)
    assert difference <= tolerance, f"{family}: the largest difference is {difference:.2e}"


class Carrying:
    """Reads batches as the original programs do: a row starts where the same row of the last batch ended."""

    def __init__(self, model: StoredModel) -> None:
        self.indexer, self.bilm = model.indexer, BiLM.of(model)
        self.state = self.bilm.zero_state(0)

    def read(self, sentences: list[list[str]]) -> BiLMOutput:
        return self.read_ids(self.indexer.batch(sentences))

    @torch.no_grad()
    def read_ids(self, ids: np.ndarray) -> BiLMOutput:
        """[B, T, K] ids with boundaries."""
        output: BiLMOutput = self.bilm(torch.from_numpy(ids), self.state.rows(len(ids)))
        self.state = self.state.replace_rows(output.state)
        return output

    def layers(self, sentences: list[list[str]]) -> list[np.ndarray]:
        """[L+1, N, W] of each sentence."""
        output = self.read(sentences)
        return [output.layers[:, b, 1 : len(s) + 1].numpy() for b, s in enumerate(sentences)]


def bilm_tf_layers(reader: Carrying, output: BiLMOutput, ids: torch.Tensor) -> np.ndarray:
    """[B, L+1, N, W] with boundaries removed bilm-tf's way; beyond a sentence, layer 0 is what no character gives."""
    with torch.no_grad():
        tokens = reader.bilm.encode_tokens(ids)  # [B, T, D], not zero where no token stands
    layers = torch.cat([torch.cat([tokens, tokens], dim=2)[None], output.layers[1:]]).numpy()  # [L+1, B, T, W]
    rows = []
    for b, length in enumerate(output.lengths.tolist()):
        kept = [t for t in range(1, layers.shape[2]) if t != length - 1]
        rows.append(layers[:, b, kept])
    return np.stack(rows)
