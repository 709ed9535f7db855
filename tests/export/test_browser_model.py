"""A model for a page: int8 by blocks, what cannot be sent, and what is described."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load

from helpers.small_models import SMALL, small_model
from polyseme.bilm_config import WordConfig
from polyseme.elmo import Elmo
from polyseme.export.browser_model import (
    BLOCK,
    describe_model,
    describe_splitting,
    pack_model,
    quantise,
    tagger_tables,
    why_not,
)


@given(arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 40)), elements=st.floats(-8, 8, width=16)))
def test_a_number_is_off_by_half_a_step_of_its_block(array: np.ndarray[Any, Any]) -> None:
    steps, scales = quantise(array)
    assert steps.shape == (-(-array.size // BLOCK), BLOCK)
    found = (steps * scales.astype(np.float32)[:, None]).reshape(-1)[: array.size]
    largest = np.abs(np.pad(array.reshape(-1), (0, -array.size % BLOCK)).reshape(-1, BLOCK)).max(axis=1)
    allowed = np.repeat(largest / 127, BLOCK)[: array.size] * 0.6 + 1e-5  # half a step; the scale is rounded too
    assert (np.abs(found - array.reshape(-1)) <= allowed).all()


def test_the_softmax_stays_at_home() -> None:
    elmo = Elmo(small_model(SMALL), device="cpu", lang="en")
    packed = load(gzip.decompress(pack_model(elmo)))
    assert {name.removesuffix(".scale") for name in packed} == set(elmo.stored.tensors)
    described = describe_model(elmo)
    assert described["network"]["width"] == SMALL.width
    assert described["spelling"]["scheme"] == "bytes"


def test_what_a_page_cannot_read_is_said() -> None:
    assert why_not(Elmo(small_model(SMALL), device="cpu", lang="en")) is None
    words = replace(SMALL, characters=None, words=WordConfig(9, 4), project_tokens=False)
    assert why_not(Elmo(small_model(words), device="cpu", lang="en")) == "it looks words up"
    warm = Elmo(small_model(SMALL), device="cpu", lang="en", state="warm")
    assert "begins every sentence anew" in (why_not(warm) or "")


@pytest.mark.parametrize("lang", ["en", "de", "ko", "ko-eojeol", "zh", "protein", "whitespace"])
def test_every_built_in_language_is_described(lang: str) -> None:
    described = describe_splitting(lang)
    assert described is not None
    assert bool(described["tagger"]) == bool(tagger_tables(lang)) == (lang in ("ko", "zh"))
