"""The token encoder: the reference's numbers, the padding rows and the original's initial values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.reference import byte_ids, options_for
from helpers.reference.cases import BATCHES, CASES, Case
from helpers.reference.port import bilm_of
from polyseme.bilm_config import Activation, BiLMConfig, CharacterConfig, WordConfig
from polyseme.nn.token_encoder import Highway, TokenEncoder


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.reads == "bytes"])
@torch.no_grad()
def test_token_vectors_at_every_position(name: str) -> None:
    """Padding too: there the CNN sees zero vectors, and the encoder itself must not hide that."""
    reference = CASES[name].model()
    ids, _ = CASES[name].ids(BATCHES[0])
    assert ids is not None
    expected = reference.token_vectors(ids, None)
    found = bilm_of(reference).token_encoder(torch.from_numpy(ids).flatten(0, 1))
    np.testing.assert_allclose(found.numpy(), expected.reshape(-1, expected.shape[-1]), atol=1e-5, rtol=0)


@given(
    token=st.text(max_size=60),
    width=st.sampled_from([3, 16, 50]),
    activation=st.sampled_from(["relu", "tanh"]),
    highways=st.integers(0, 3),
)
@torch.no_grad()
def test_any_token(token: str, width: int, activation: str, highways: int) -> None:
    case = Case(options_for(width=width, activation=activation, highways=highways))
    reference = case.model()
    ids = byte_ids([[token]], width)
    found = bilm_of(reference).token_encoder(torch.from_numpy(ids[0]))
    np.testing.assert_allclose(found.numpy(), reference.token_vectors(ids, None)[0], atol=1e-5, rtol=0)


def test_a_word_stands_before_its_characters() -> None:
    """[word; characters] enters the projection in this order: the word's share is in the first columns."""
    characters = CharacterConfig(5, dim=2, max_characters=4, filters=((2, 6),))
    config = BiLMConfig(words=WordConfig(size=4, dim=3), characters=characters, cell=8, projection=4)
    encoder = TokenEncoder(config)
    assert encoder.projection is not None
    assert encoder.words is not None
    torch.nn.init.zeros_(encoder.projection.weight[:, 3:])
    torch.nn.init.zeros_(encoder.projection.bias)
    rows = torch.tensor([[3, 1, 2, 3, 4], [3, 5, 5, 5, 5]])
    found = encoder(rows)
    expected = encoder.words.weight[3] @ encoder.projection.weight[:, :3].T
    torch.testing.assert_close(found, expected.expand(2, 4))


def test_padding_rows_are_zero_and_stay_zero() -> None:
    config = BiLMConfig(words=WordConfig(4, 3), characters=CharacterConfig(5, 2, 4, ((2, 6),)), cell=8, projection=4)
    encoder = TokenEncoder(config)
    rows = torch.tensor([[0, 0, 0, 0, 0], [1, 2, 3, 0, 0]])
    encoder(rows).square().sum().backward()
    assert encoder.words is not None
    assert encoder.characters is not None
    for table in (encoder.words.weight, encoder.characters.embedding.weight):
        assert not table[0].any()
        assert table.grad is not None
        assert not table.grad[0].any()
        assert table.grad.any()


def test_a_highway_gate_carries_the_transform() -> None:
    """Gate closed: the input passes; gate open: relu of the transform, although the CNN's activation may be tanh."""
    highway, h = Highway(3), torch.tensor([[-1.0, 0.5, 2.0]])
    torch.nn.init.zeros_(highway.gate.weight)
    torch.nn.init.constant_(highway.gate.bias, -50.0)
    torch.testing.assert_close(highway(h), h)
    torch.nn.init.constant_(highway.gate.bias, 50.0)
    torch.testing.assert_close(highway(h), torch.relu(highway.transform(h)))


# Initial values


def assert_normal(values: torch.Tensor, deviation: float) -> None:
    assert values.mean().item() == pytest.approx(0, abs=4 * deviation / math.sqrt(values.numel()))
    assert values.std().item() == pytest.approx(deviation, rel=0.1)
    assert values.abs().max() > 2 * deviation  # no uniform distribution of this deviation reaches so far


def assert_uniform(values: torch.Tensor, bound: float) -> None:
    assert 0.95 * bound < values.abs().max() <= bound
    assert values.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_initial_values_of_the_original(activation: Activation) -> None:
    torch.manual_seed(0)
    characters = CharacterConfig(261, dim=16, filters=((1, 40), (3, 60)), highways=2, activation=activation)
    encoder = TokenEncoder(BiLMConfig(characters=characters, words=WordConfig(90, 30), cell=64, projection=50))
    cnn = encoder.characters
    assert cnn is not None
    assert encoder.words is not None
    assert encoder.projection is not None
    assert_uniform(cnn.embedding.weight[1:], 1.0)
    for width, conv in zip((1, 3), cnn.convolutions, strict=True):
        if activation == "relu":
            assert_uniform(conv.weight, 0.05)
        else:
            assert_normal(conv.weight, math.sqrt(1 / (width * 16)))
        assert not conv.bias.any()
    for highway in cnn.highways:
        assert_normal(highway.transform.weight, math.sqrt(1 / 100))
        assert_normal(highway.gate.weight, math.sqrt(1 / 100))
        assert not highway.transform.bias.any()
        assert (highway.gate.bias == -2).all()
    assert_normal(encoder.projection.weight, math.sqrt(1 / 130))
    assert not encoder.projection.bias.any()
    assert_uniform(encoder.words.weight[1:], math.sqrt(6 / (90 + 30)))
