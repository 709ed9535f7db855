"""The vectors of tokens: their parts, their widths, and that nothing depends on a batch-mate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.vectors.learned import LONGEST, Spelling
from polyseme.tasks.vectors.static import StaticVectors

TEXT = [["Ada", "left", "."], ["Oslo"], ["A", "B", "C", "D"]]
STATIC = StaticVectors("given", {"ada": 1, ".": 2}, np.array([[0, 0], [1, 2], [3, 4]], dtype=np.float32))


def features(choices: InputChoices) -> Features:
    cache = None if choices.elmo == "none" else LayerCache(tiny_elmo())
    return Features(choices, STATIC, Spelling.of(TEXT), cache)


def vectors(choices: InputChoices, sentences: list[list[str]] = TEXT, seed: int = 0) -> tuple[TokenInputs, object]:
    data = features(choices)
    torch.manual_seed(seed)
    tokens = TokenInputs.of(data).eval()
    return tokens, tokens(data(sentences))


@pytest.mark.parametrize("elmo", ["none", "input", "output", "both"])
def test_elmo_enters_where_it_should(elmo: str) -> None:
    tokens, found = vectors(InputChoices(elmo=elmo, characters=5))
    width = tiny_elmo().config.width
    assert found.input.shape == (3, 4, 2 + 5 + (width if elmo in ("input", "both") else 0))
    assert found.output.shape == (3, 4, width if elmo in ("output", "both") else 0)
    assert (tokens.input_width, tokens.output_width) == (found.input.shape[2], found.output.shape[2])
    assert found.lengths.tolist() == [3, 1, 4]
    assert not found.input[~found.mask].any()
    assert found.input[0, 0, :2].tolist() == [1, 2]
    assert len(list(tokens.shares())) == {"none": 0, "both": 2}.get(elmo, 1)


def test_the_mix_is_that_of_the_layers() -> None:
    tokens, found = vectors(InputChoices(elmo="both", characters=0))
    layers = tiny_elmo().encode_tokens(TEXT[:1])[0].layers.astype(np.float16).astype(np.float32)  # [L+1, N, W]
    torch.testing.assert_close(found.input[0, :3, 2:], torch.from_numpy(layers.mean(axis=0)))
    with torch.no_grad():
        tokens.output_mix.weights.copy_(torch.tensor([0.0, 1.0, 2.0]))
        tokens.output_mix.scale.fill_(3.0)
    weighted = 3 * np.tensordot(torch.softmax(torch.tensor([0.0, 1.0, 2.0]), 0).numpy(), layers, axes=1)
    shares = torch.softmax(torch.tensor([0.0, 1.0, 2.0]), 0).tolist()
    assert tokens.shares()["output"] == {"shares": pytest.approx(shares, abs=1e-4), "scale": 3.0}
    again = tokens(features(tokens.choices)(TEXT))
    torch.testing.assert_close(again.output[0, :3], torch.from_numpy(weighted))
    assert tokens.penalty().item() == pytest.approx(0.001 * 5)


@pytest.mark.parametrize(("layers", "number"), [("0", 0), ("1", 1), ("2", 2), ("last", 2)])
def test_one_layer_alone(layers: str, number: int) -> None:
    _, found = vectors(InputChoices(layers=layers, characters=0))
    expected = tiny_elmo().encode_tokens(TEXT[:1])[0].layers[number].astype(np.float16).astype(np.float32)
    torch.testing.assert_close(found.input[0, :3, 2:], torch.from_numpy(expected))


@pytest.mark.parametrize("layer_norm", [False, True])
def test_batch_mates_do_not_matter(layer_norm: bool) -> None:
    choices = InputChoices(elmo="both", characters=5, layer_norm=layer_norm)
    _, together = vectors(choices)
    for row, sentence in enumerate(TEXT):
        _, alone = vectors(choices, [sentence])
        torch.testing.assert_close(together.input[row, : len(sentence)], alone.input[0])
        torch.testing.assert_close(together.output[row, : len(sentence)], alone.output[0])


@pytest.mark.parametrize("elmo", ["none", "input", "both"])
def test_sentences_without_tokens_have_no_vectors(elmo: str) -> None:
    _, found = vectors(InputChoices(elmo=elmo, characters=5), [[], []])
    assert found.input.shape[:2] == (2, 0)


def test_a_fine_tuned_bilm_gives_the_same_vectors_and_learns() -> None:
    choices = InputChoices(elmo="both", characters=0, elmo_dropout=0.0)
    _, frozen = vectors(choices)
    tokens, tuned = vectors(replace(choices, finetune=True))
    torch.testing.assert_close(tuned.input, frozen.input, atol=2e-3, rtol=2e-3)  # float16 in between
    tuned.output.sum().backward()
    assert tokens.bilm is not None
    assert all(parameter.grad is not None for parameter in tokens.bilm.directions.parameters())


def test_a_fine_tuned_bilm_of_units_has_a_row_for_each_word() -> None:
    stored = tiny_elmo().stored
    elmo = Elmo(replace(stored, card={**stored.card, "tokenization": "ko", "unit": "morpheme"}), device="cpu")
    sentences = [["어부들은", "배를", "탔다"], ["배가"], []]
    choices = InputChoices(elmo="both", characters=0, elmo_dropout=0.0)
    found = []
    for finetune in (False, True):
        data = Features(replace(choices, finetune=finetune), STATIC, Spelling.of(sentences), LayerCache(elmo))
        found.append(TokenInputs.of(data).eval()(data(sentences)))
    assert found[0].input.shape[:2] == (3, 3)
    torch.testing.assert_close(found[1].input, found[0].input, atol=2e-3, rtol=2e-3)  # float16 in between


def test_dropout_is_elmos_alone_and_only_in_training() -> None:
    data = features(InputChoices(elmo="both", characters=0, elmo_dropout=0.9))
    tokens = TokenInputs.of(data).train()
    torch.manual_seed(0)
    found = tokens(data(TEXT))
    assert (found.output[found.mask] == 0).float().mean() > 0.7
    assert found.input[0, 0, :2].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"elmo": "middle"}, "middle"),
        ({"layers": "top"}, "top"),
        ({"layers": "²"}, "²"),
        ({"layers": "٣"}, "٣"),
        ({"mix_penalty": -1.0}, "mix_penalty"),
        ({"elmo_dropout": 1.0}, "elmo_dropout"),
        ({"elmo": "none", "static": "none", "characters": 0}, "no vector"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        InputChoices(**wrong)


def test_a_layer_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 to 2"):
        features(InputChoices(layers="3"))


def test_spelling_knows_ends_and_unknown_letters() -> None:
    spelling = Spelling.of([["ab", "b"]])
    assert spelling.ids("ab") == [2, 4, 5, 3]
    assert spelling.ids("a?") == [2, 4, 1, 3]
    assert len(spelling.ids("a" * 100)) == LONGEST + 2
