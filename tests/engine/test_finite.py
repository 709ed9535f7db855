"""Finite weights that lead to numbers that are not: refused at load, or named at the first vector; never passed on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.damage import forget_digests
from helpers.refusals import refused
from helpers.small_models import small_model
from polyseme.elmo import Elmo
from polyseme.embed.description import Options
from polyseme.embed.job import embed_files
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import save_native

TEXT = "a bank by the river ."


def scaled(factor: float) -> StoredModel:
    model = small_model(softmax=True)
    return replace(model, tensors={name: values * factor for name, values in model.tensors.items()})


@pytest.mark.parametrize("kernel", ["", "off"])
def test_vectors_that_are_not_finite_are_named(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSEME_KERNEL", kernel)
    with np.errstate(all="ignore"):
        elmo = Elmo(scaled(1e20), device="cpu")
        for ask in (elmo.encode, elmo.score, lambda text: next(elmo.stream([text]))):
            with refused("the vector of .* in layer 0 is not made of finite numbers"):
                ask(TEXT)


def test_a_file_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(TEXT)
    with np.errstate(all="ignore"), refused("not made of finite numbers"):
        embed_files([tmp_path / "in.txt"], tmp_path / "out.h5", Elmo(scaled(1e20), device="cpu"))
    assert not (tmp_path / "out.h5").exists()


def test_a_weight_that_is_far_too_large_is_refused_at_load(tmp_path: Path) -> None:
    save_native(scaled(1e20), tmp_path / "model")
    forget_digests(tmp_path / "model")
    with refused("holds the value .*e.*, which is no weight of a network"):
        load(tmp_path / "model")


def test_a_value_that_half_precision_cannot_hold_is_named(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(TEXT)
    elmo = Elmo(scaled(100), device="cpu")
    assert np.isfinite(elmo.encode(TEXT).layers).all()
    embed_files([tmp_path / "in.txt"], tmp_path / "single.h5", elmo, Options(layers="all"))
    with refused("which float16 cannot hold; use --dtype float32"):
        embed_files([tmp_path / "in.txt"], tmp_path / "half.h5", elmo, Options(layers="all", dtype="float16"))
