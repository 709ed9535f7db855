"""The fast token encoder gives the reference's vectors: for every alphabet, row length, width and activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.random_models import TOKENS, configs, random_model
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.engine.compiled import CompiledTokenEncoder
from polyseme.engine.token_encoder import TokenEncoder
from polyseme.engine.weights import token_weights
from polyseme.formats.model import StoredModel
from polyseme.kernel.library import Library, available, load
from polyseme.nn.bilm import BiLM

#: None: numpy
LIBRARIES: list[Library | None] = [None, *map(load, available())]
every_path = pytest.mark.parametrize(
    "library", LIBRARIES, ids=lambda library: library.instruction_set if library else "numpy"
)


def encode(library: Library | None, stored: StoredModel, tokens: list[str]) -> tuple[Any, Any]:
    """What the fast and the reference encoder say of some tokens and the boundaries. [R, D] each"""
    indexer = stored.indexer
    rows = np.array([indexer.begin_row(), indexer.end_row(), *(indexer.row(token) for token in tokens)])
    weights = token_weights(stored.config, stored.tensors)
    encoder: Any = TokenEncoder(stored.config, weights)
    if library is not None:
        encoder = CompiledTokenEncoder(library, stored.config, weights, "float32")
    with torch.no_grad():
        return encoder.encode(rows, counts(stored, rows)), BiLM.of(stored).token_encoder(torch.from_numpy(rows)).numpy()


def counts(stored: StoredModel, rows: Any) -> Any:
    """Characters before the padding."""
    characters = stored.indexer.characters
    if characters is None:
        return np.zeros(len(rows), np.int64)
    ids = rows[:, -characters.max_characters :]
    return np.array([max(n + 1 for n, i in enumerate(row) if i != characters.padding) for row in ids])


@every_path
@settings(max_examples=30)
@given(configs(), st.lists(st.sampled_from(TOKENS) | st.text(max_size=20), max_size=40))
def test_it_agrees_with_the_reference(library: Library | None, config: BiLMConfig, tokens: list[str]) -> None:
    found, expected = encode(library, random_model(config), tokens)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@every_path
@pytest.mark.parametrize("columns", [3, 4, 5, 7, 8, 9, 16, 50, 100])
def test_rows_that_are_too_short_for_a_window_of_padding(library: Library | None, columns: int) -> None:
    """Windows that would reach beyond the row must not count, for any filter width."""
    filters = tuple((width, 5) for width in range(1, min(columns, 7) + 1))
    config = BiLMConfig(
        characters=CharacterConfig(alphabet=261, max_characters=columns, filters=filters), cell=8, projection=4
    )
    found, expected = encode(library, random_model(config), ["a" * n for n in range(columns + 3)])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@every_path
def test_the_maximum_counts_a_window_of_padding_alone(library: Library | None) -> None:
    """The originals pool over padding too: where only padding makes a filter positive, it must show."""
    config = BiLMConfig(
        characters=CharacterConfig(alphabet=261, dim=2, filters=((2, 3),), highways=0),
        cell=8, projection=3, project_tokens=False,
    )  # fmt: skip
    stored = random_model(config)
    tensors = dict(stored.tensors)
    tensors["token_encoder.characters.embedding.weight"] = np.full((262, 2), -1, np.float32)
    tensors["token_encoder.characters.embedding.weight"][261] = 1.0
    tensors["token_encoder.characters.convolutions.0.weight"] = np.ones((3, 2, 2), np.float32)
    tensors["token_encoder.characters.convolutions.0.bias"] = np.zeros(3, np.float32)
    found, _ = encode(library, StoredModel(config, tensors, stored.indexer), ["word"])
    assert found[2].tolist() == [4.0, 4.0, 4.0]


@every_path
def test_no_tokens_no_vectors(library: Library | None) -> None:
    found, expected = encode(library, random_model(), [])
    assert found.shape == expected.shape == (2, 8)
