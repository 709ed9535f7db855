"""The fast token encoder gives the reference's vectors: for every alphabet, row length, width and activation."""

from __future__ import annotations

import pytest
import torch
from engine.random_models import BYTES, TOKENS, configs, indexer_for, random_model
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.engine.token_encoder import TokenEncoder
from polyseme.formats.model import StoredModel
from polyseme.nn.config import BiLMConfig, CharacterConfig


def encode(stored: StoredModel, tokens: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the fast and the reference encoder say of some tokens and the boundaries. [R, D] each"""
    indexer = stored.indexer
    rows = torch.tensor([indexer.begin_row(), indexer.end_row(), *(indexer.row(token) for token in tokens)])
    encoder = TokenEncoder(stored.config, stored.tensors, indexer.characters.padding if indexer.characters else 0)
    found = torch.full((len(rows), stored.config.projection), torch.nan)
    for group in encoder.groups(rows):
        found[group] = encoder.encode(rows[group])
    with torch.no_grad():
        return found, stored.bilm().token_encoder(rows)


@settings(max_examples=60)
@given(configs(), st.lists(st.sampled_from(TOKENS) | st.text(max_size=20), max_size=30))
def test_it_agrees_with_the_reference(config: BiLMConfig, tokens: list[str]) -> None:
    found, expected = encode(random_model(config), tokens)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [3, 4, 5, 7, 8, 9, 16, 50])
def test_rows_that_are_too_short_for_a_window_of_padding(columns: int) -> None:
    """Windows that would reach beyond the row must not count, for any filter width."""
    filters = tuple((width, 5) for width in range(1, min(columns, 7) + 1))
    config = BiLMConfig(
        characters=CharacterConfig(alphabet=261, max_characters=columns, filters=filters), cell=8, projection=4
    )
    found, expected = encode(random_model(config), ["a" * n for n in range(columns + 3)])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_the_maximum_counts_a_window_of_padding_alone() -> None:
    """The originals pool over padding too: where only padding makes a filter positive, it must show."""
    config = BiLMConfig(
        characters=CharacterConfig(alphabet=261, dim=2, filters=((2, 3),), highways=0),
        cell=8, projection=3, project_tokens=False,
    )  # fmt: skip
    stored = random_model(config)
    tensors = dict(stored.tensors)
    tensors["token_encoder.characters.embedding.weight"] = torch.full((262, 2), -1.0)
    tensors["token_encoder.characters.embedding.weight"][261] = 1.0
    tensors["token_encoder.characters.convolutions.0.weight"] = torch.ones(3, 2, 2)
    tensors["token_encoder.characters.convolutions.0.bias"] = torch.zeros(3)
    found, _ = encode(StoredModel(config, tensors, stored.indexer), ["word"])
    assert found[2].tolist() == [4.0, 4.0, 4.0]


def test_groups_are_bounded_and_hold_every_row_once() -> None:
    config = BiLMConfig(characters=BYTES, cell=8, projection=4)
    stored, indexer = random_model(config), indexer_for(config)
    encoder = TokenEncoder(config, stored.tensors, 261)
    rows = torch.tensor([indexer.row("x" * (n % 45)) for n in range(2000)])
    groups = encoder.groups(rows)
    assert sorted(torch.cat(groups).tolist()) == list(range(2000))
    assert all(len(group) * 49 <= 2 * 2048 or len(group) < 700 for group in groups)
    assert len(groups) > 10
