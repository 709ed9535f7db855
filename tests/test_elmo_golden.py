"""Elmo, with its state carried as the original programs carry it, gives the originals' numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.golden import TOLERANCE, files, golden
from polyseme import Elmo

INFERENCE = "bilm-tf-generated/inference"
MODELS = ("skip2_relu", "clip_binding", "layers1", "layers3_skip", "layers3_noskip_tanh", "noproj_cnn")
MODELS += ("highway0", "highway3_tanh", "lstm_noproj", "noclip", "maxchars16")


@pytest.mark.parametrize("name", files(*(f"{INFERENCE}/{name}" for name in MODELS)))
def test_batches_of_bilm_tf_one_after_the_other(name: str) -> None:
    elmo = Elmo.from_pretrained(golden(name), state="carry")
    expected = np.load(golden(name) / "expected.npz")
    for number, batch in enumerate(json.loads(golden(f"{INFERENCE}/sentences.json").read_text())):
        for row, encoding in enumerate(elmo.encode_tokens(batch)):
            layers = expected[f"b{number}_lm_embeddings"][row][:, : len(encoding)]  # [L+1, N, W]
            assert np.abs(encoding.layers - layers).max(initial=0) <= TOLERANCE
