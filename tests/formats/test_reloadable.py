"""Large weights leave memory when the engine has packed them, and come back when somebody asks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.tiny_models import tiny_model
from polyseme.elmo import Elmo
from polyseme.formats import reloadable
from polyseme.formats.detect import load
from polyseme.formats.native import save_native
from polyseme.formats.reloadable import ReloadableTensors


def test_weights_that_left_come_back_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_native(tiny_model(), tmp_path / "model")
    small = load(tmp_path / "model")
    assert not isinstance(small.tensors, ReloadableTensors)  # not worth reading again
    monkeypatch.setattr(reloadable, "WORTH_BYTES", 0)
    elmo = Elmo.from_pretrained(tmp_path / "model", lang="whitespace")
    tensors = elmo.stored.tensors
    assert isinstance(tensors, ReloadableTensors) and tensors._tensors is None
    expected = Elmo(small, lang="whitespace").encode_tokens([["a", "b"]])[0].layers
    np.testing.assert_array_equal(elmo.encode_tokens([["a", "b"]])[0].layers, expected)
    assert elmo.fingerprint == small.fingerprint()
    assert tensors.keys() == small.tensors.keys()


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_vectors_of_fewer_bits_are_near_and_have_another_fingerprint(precision: str) -> None:
    whole = Elmo(tiny_model(), lang="whitespace")
    fewer = Elmo(tiny_model(), lang="whitespace", precision=precision)  # type: ignore[arg-type]
    sentence = [["the", "old", "bank", "."]]
    a, b = (one.encode_tokens(sentence)[0].layers for one in (whole, fewer))
    assert 0 < np.abs(a - b).max() < 0.05 * np.abs(a).max()
    assert len({whole.fingerprint, fewer.fingerprint}) == 2
    assert len(whole.fingerprint) == len(fewer.fingerprint)
