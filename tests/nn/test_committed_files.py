"""The network and its reference against committed files, so that a change of both at once is noticed."""

from __future__ import annotations

import json
import runpy
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paths import COMMITTED
from helpers.reference import ReferenceBiLM
from helpers.reference.cases import BATCHES, CASES
from helpers.reference.port import bilm_of

FOLDER = COMMITTED / "nn"
MAKE = runpy.run_path(str(FOLDER / "make.py"))
FILES: dict[str, str] = MAKE["FILES"]
TOLERANCE = 1e-5


def read(name: str) -> tuple[dict[str, Any], ReferenceBiLM]:
    """All arrays of a file, and the reference with the weights of the file."""
    with np.load(FOLDER / f"{name}.npz") as file:
        arrays = dict(file)
    weights = {k.removeprefix("weights/"): v.astype(np.float32) for k, v in arrays.items() if k.startswith("weights/")}
    return arrays, ReferenceBiLM(json.loads(str(arrays["options"])), weights)


def test_every_file_is_there_and_small() -> None:
    files = sorted(FOLDER.glob("*.npz"))
    assert [file.stem for file in files] == sorted(FILES)
    assert sum(file.stat().st_size for file in files) < 300_000


@pytest.mark.parametrize("name", FILES)
@torch.no_grad()
def test_the_network_gives_the_committed_numbers(name: str) -> None:
    arrays, reference = read(name)
    bilm, kept = bilm_of(reference), None
    for i in range(len(BATCHES)):
        ids = torch.from_numpy(arrays[f"ids{i}"].astype(np.int64))
        output = bilm(ids, kept.rows(len(ids)) if kept else None)
        kept = kept.replace_rows(output.state) if kept else output.state
        np.testing.assert_allclose(output.layers.numpy(), arrays[f"layers{i}"], atol=TOLERANCE, rtol=0)
    assert kept is not None
    for direction in range(bilm.config.directions):
        for layer in range(bilm.config.layers):
            state = kept.cell(direction, layer)
            for part, found in (("h", state.h), ("c", state.c)):
                expected = arrays[f"state/{direction}/{layer}/{part}"]
                np.testing.assert_allclose(found.numpy(), expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("name", FILES)
def test_the_reference_gives_the_committed_numbers(name: str) -> None:
    """With the weights of the file, whatever random weights numpy draws today."""
    arrays, reference = read(name)
    case = CASES[FILES[name]]
    reference = ReferenceBiLM(reference.options, reference.weights, shifted=case.reads != "both")
    state = reference.zero_state(max(len(batch) for batch in BATCHES))
    for i, batch in enumerate(BATCHES):
        np.testing.assert_array_equal(case.polyseme_ids(batch).numpy(), arrays[f"ids{i}"])
        lengths = [len(sentence) + 2 for sentence in batch]
        layers = reference(*case.ids(batch), lengths=lengths, state=state)
        for b, length in enumerate(lengths):
            found, expected = layers[:, b, :length], arrays[f"layers{i}"][:, b, :length]
            np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
