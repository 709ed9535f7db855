"""The ONNX graph computes what the engine computes, in onnx's own evaluator and in onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.small_models import SMALL, small_model
from polyseme.bilm_config import WordConfig
from polyseme.elmo import Elmo
from polyseme.export.onnx_graph import write_onnx
from polyseme.formats.model import StoredModel

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

TOKENS = ["w1", "quokkas", "sat", "w2", ",", "on", "the", "w3", "Bank", "é"]
CONFIGS = {
    "characters": SMALL,
    "forward only": replace(SMALL, bidirectional=False),
    "no clips, no skips": replace(SMALL, cell_clip=None, projection_clip=None, skip_connections=False, layers=3),
    "no projection": replace(SMALL, cell=4),
    "tanh": replace(SMALL, characters=replace(SMALL.characters, activation="tanh")),
    "words": replace(SMALL, characters=None, words=WordConfig(9, 4), project_tokens=False),
}


def ids_of(stored: StoredModel, tokens: list[str]) -> np.ndarray[Any, Any]:
    return np.asarray(stored.indexer.batch([tokens])[0], np.int64)


@pytest.mark.parametrize("name", CONFIGS)
def test_onnxruntime_gives_the_layers_of_the_engine(tmp_path: Path, name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    stored = small_model(CONFIGS[name])
    write_onnx(stored, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (layers,) = session.run(None, {"ids": ids_of(stored, TOKENS)})
    np.testing.assert_allclose(layers[:, 1:-1], engine_layers(stored), atol=1e-5)


def test_onnx_itself_gives_the_layers_of_a_model_that_reads_forward(tmp_path: Path) -> None:
    """onnx's own evaluator scans from the beginning only."""
    from onnx.reference import ReferenceEvaluator

    stored = small_model(CONFIGS["forward only"])
    write_onnx(stored, tmp_path / "model.onnx")
    (layers,) = ReferenceEvaluator(str(tmp_path / "model.onnx")).run(None, {"ids": ids_of(stored, TOKENS)})
    np.testing.assert_allclose(layers[:, 1:-1], engine_layers(stored), atol=1e-5)


def engine_layers(stored: StoredModel) -> np.ndarray[Any, Any]:
    return Elmo(stored, device="cpu", lang="whitespace").encode_tokens([TOKENS])[0].layers


def test_onnxruntime_runs_the_bundled_model_within_3e_5_on_128_positions(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    elmo = Elmo.from_pretrained("en", device="cpu")
    write_onnx(elmo.stored, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    tokens = ("The bank of the river rose , and quokkas swam past the old mill . " * 10).split()[:126]
    (layers,) = session.run(None, {"ids": ids_of(elmo.stored, tokens)})
    assert layers.shape[1] == 128
    difference = np.abs(layers[:, 1:-1] - elmo.encode_tokens([tokens])[0].layers).max()
    assert difference < 3e-5
    print(f"largest difference {difference:.1e}")
