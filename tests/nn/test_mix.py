"""The scalar mix against the reference and the original, and biLM representations as part of a task's network."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from helpers.paths import FIXTURES, needs
from helpers.reference import byte_ids, mix
from helpers.reference.cases import BATCHES, CASES
from helpers.reference.port import bilm_of
from helpers.reference.released import read_model
from polyseme.errors import ConfigError
from polyseme.nn.bilm import BiLM
from polyseme.nn.mix import ElmoRepresentations, LayerNorm, ScalarMix

CASE = CASES["three layers"]
BATCH = BATCHES[0]
IDS = CASE.polyseme_ids(BATCH)
NORMS: list[LayerNorm | None] = [None, "batch", "token"]


def random_layers(seed: int = 0, depth: int = 3) -> tuple[Tensor, Tensor]:
    """[L+1, B, T, W] layers, not zero at padding, and [B, T] mask."""
    generator = torch.Generator().manual_seed(seed)
    layers = torch.randn(depth, 3, 5, 4, generator=generator) * 2 + 0.5
    return layers, torch.arange(5) < torch.tensor([[5], [2], [0]])


def set_mix(module: ScalarMix, weights: list[float], scale: float) -> None:
    with torch.no_grad():
        assert module.weights is not None
        module.weights.copy_(torch.tensor(weights))
        module.scale.fill_(scale)


# ScalarMix


@pytest.mark.parametrize("norm", NORMS)
@given(weights=st.lists(st.floats(-5, 5), min_size=3, max_size=3), scale=st.floats(-3, 3), seed=st.integers(0, 99))
def test_mix_is_the_reference(norm: LayerNorm | None, weights: list[float], scale: float, seed: int) -> None:
    layers, mask = random_layers(seed)
    module = ScalarMix(3, layer_norm=norm)
    set_mix(module, weights, scale)
    expected = mix(layers.double().numpy(), np.array(weights), scale, norm or "none", mask.numpy())
    np.testing.assert_allclose(module(layers, mask).detach().numpy(), expected, atol=1e-5, rtol=1e-6)


def test_a_new_mix_is_the_mean() -> None:
    layers, _ = random_layers()
    module = ScalarMix(3)
    torch.testing.assert_close(module(layers), layers.mean(dim=0))
    assert module.shares().tolist() == pytest.approx([1 / 3] * 3)
    assert [name for name, _ in module.named_parameters()] == ["weights", "scale"]
    assert module.weights is not None
    assert module.weights.shape == (3,)


def test_without_a_mask_all_positions_count() -> None:
    layers, _ = random_layers()
    mixed = ScalarMix(3, layer_norm="batch")(layers[:1].expand(3, -1, -1, -1))
    assert mixed.mean().item() == pytest.approx(0, abs=1e-5)
    assert mixed.var(unbiased=False).item() == pytest.approx(1, abs=1e-5)


def test_a_norm_over_no_token_is_a_number() -> None:
    layers, mask = torch.zeros(3, 2, 4, 5, requires_grad=True), torch.zeros(2, 4, dtype=torch.bool)
    mixed = ScalarMix(3, layer_norm="batch")(layers, mask)
    mixed.sum().backward()
    assert mixed.isfinite().all()
    assert layers.grad is not None
    assert layers.grad.isfinite().all()


def test_token_norm_does_not_see_other_tokens() -> None:
    layers, mask = random_layers()
    changed = layers.clone()
    changed[:, 0, 1:] += 7
    module = ScalarMix(3, layer_norm="token")
    assert torch.equal(module(layers, mask)[0, 0], module(changed, mask)[0, 0])
    assert not torch.equal(module(layers, mask)[0, 1], module(changed, mask)[0, 1])


def test_fixed_weights_are_not_trained() -> None:
    layers, _ = random_layers()
    layers.requires_grad_()
    module = ScalarMix(3, fixed=[-9e10, -9e10, 1.0])
    mixed = module(layers)
    torch.testing.assert_close(mixed, layers[2])
    mixed.sum().backward()
    assert [p.requires_grad for p in module.parameters()] == [False, False]
    assert layers.grad is not None


@pytest.mark.parametrize("norm", NORMS)
def test_top_only_is_the_scaled_top_layer(norm: LayerNorm | None) -> None:
    layers, mask = random_layers()
    module = ScalarMix(3, top_only=True, layer_norm=norm)
    with torch.no_grad():
        module.scale.fill_(1.7)
    torch.testing.assert_close(module(layers, mask), 1.7 * layers[2])
    assert [name for name, _ in module.named_parameters()] == ["scale"]
    assert module.penalty(10.0).item() == 0
    with pytest.raises(ConfigError, match="no weights"):
        module.shares()


def test_penalty_is_the_squared_weights_without_the_scale() -> None:
    module = ScalarMix(3)
    set_mix(module, [1.0, -2.0, 0.5], 9.0)
    penalty = module.penalty(0.001)
    assert penalty.item() == pytest.approx(0.001 * 5.25)
    penalty.backward()
    assert module.weights is not None
    assert module.weights.grad is not None
    assert module.weights.grad.tolist() == pytest.approx([0.002, -0.004, 0.001])
    assert module.scale.grad is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fixed": [1.0, 2.0]}, "2 weights were given for 3 layers"),
        ({"fixed": [1.0, 2.0, 3.0], "top_only": True}, "top_only has no weights to fix"),
        ({"layer_norm": "layer"}, "only 'batch' and 'token' exist"),
        ({"layer_norm": True}, "only 'batch' and 'token' exist"),
        ({"layers": 0}, "at least one layer"),
    ],
)
def test_mixes_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ScalarMix(**{"layers": 3, **options})


WEIGHT_LAYERS = FIXTURES / "bilm-tf-generated" / "weight_layers"


@pytest.mark.shared
@needs(WEIGHT_LAYERS)
@pytest.mark.parametrize("number", range(16))
def test_weight_layers_of_bilm_tf(number: int) -> None:
    case = json.loads((WEIGHT_LAYERS / "cases.json").read_text())["cases"][number]
    stored = {k: torch.from_numpy(v) for k, v in np.load(WEIGHT_LAYERS / "weight_layers.npz").items()}
    name = case["case"]
    layers, mask = stored[f"{name}_lm_embeddings"].transpose(0, 1), stored[f"{name}_mask"]
    norm: LayerNorm | None = "batch" if case["do_layer_norm"] else None
    module = ScalarMix(len(layers), layer_norm=norm, top_only=case["use_top_only"])
    with torch.no_grad():
        torch.testing.assert_close(module(layers, mask), stored[f"{name}_weighted_init"], atol=1e-5, rtol=0)
        module.scale.copy_(stored[f"{name}_gamma"])
        if module.weights is not None:
            module.weights.copy_(stored[f"{name}_W"])
        torch.testing.assert_close(module(layers, mask), stored[f"{name}_weighted_set"], atol=1e-5, rtol=0)
    assert module.penalty(case["l2_coef"]).item() == pytest.approx(float(stored[f"{name}_reg"][0]), abs=1e-6)


# ElmoRepresentations


def new_bilm() -> BiLM:
    return bilm_of(CASE.model()).train()


def expected_mix(weights: list[float], scale: float, norm: str, *, boundaries: str) -> np.ndarray:
    """The reference's representation. ``boundaries``: "drop" first, "norm" (drop after the norm) or "keep"."""
    lengths = [len(sentence) + 2 for sentence in BATCH]
    layers = CASE.model()(*CASE.ids(BATCH))
    mask = np.arange(layers.shape[2]) < np.array(lengths)[:, None]
    layers = layers * mask[:, :, None]
    tokens = mask[:, 2:]
    if boundaries == "drop":
        layers, mask = layers[:, :, 1:-1] * tokens[:, :, None], tokens
    mixed = mix(layers, np.array(weights), scale, norm, mask)
    if boundaries == "norm":
        mixed = mixed[:, 1:-1]
    return mixed if boundaries == "keep" else mixed * tokens[:, :, None]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("boundaries", ["drop", "norm", "keep"])
def test_representations_are_the_reference(norm: LayerNorm | None, boundaries: str) -> None:
    """Two mixes with weights of their own; empty and short sentences in the batch; zero where no token stands."""
    elmo = ElmoRepresentations(
        new_bilm(),
        count=2,
        layer_norm=norm,
        keep_boundaries=boundaries == "keep",
        norm_boundaries=boundaries == "norm",
    ).eval()
    settings = [([0.3, -1.0, 0.2, 1.5], 1.7), ([1.0, 0.0, -1.0, 0.5], 0.4)]
    for module, (weights, scale) in zip(elmo.mixes, settings, strict=True):
        set_mix(module, weights, scale)
    found, mask = elmo(IDS)
    assert len(found) == 2
    assert mask.shape == found[0].shape[:2]
    assert torch.equal(mask.sum(dim=1), torch.tensor([len(sentence) + 2 * elmo.keep_boundaries for sentence in BATCH]))
    for representation, (weights, scale) in zip(found, settings, strict=True):
        expected = expected_mix(weights, scale, norm or "none", boundaries=boundaries)
        np.testing.assert_allclose(representation.detach().numpy(), expected, atol=2e-5, rtol=0)
    shares = elmo.shares()
    assert [sum(share) for share in shares] == pytest.approx([1.0, 1.0])
    assert shares[0] == pytest.approx(np.exp(settings[0][0]) / np.exp(settings[0][0]).sum())


ALLENNLP = FIXTURES / "allennlp"
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "two": {"count": 2},
    "layer_norm": {"layer_norm": "batch", "norm_boundaries": True},
    "keep_boundaries": {"keep_boundaries": True},
    "keep_boundaries_layer_norm": {"keep_boundaries": True, "layer_norm": "batch"},
    "scalar_mix_parameters": {},  # and ``fixed``, below
}


@pytest.mark.shared
@needs(ALLENNLP)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["skip2_relu", "layers3_skip", "clip_binding"])
def test_the_elmo_module_of_allennlp(name: str, variant: str) -> None:
    """Its first call, from the zero state, at every position."""
    golden = np.load(ALLENNLP / name / "expected.npz")
    weights = golden["elmo/mix_weights"].tolist()
    options = dict(VARIANTS[variant])
    if variant == "scalar_mix_parameters":
        options["fixed"] = weights
    elmo = ElmoRepresentations(bilm_of(read_model(ALLENNLP / name)), **options).eval()
    if variant not in ("default", "scalar_mix_parameters"):
        set_mix(elmo.mixes[0], weights, 1.7)
    if variant == "two":
        set_mix(elmo.mixes[1], weights[::-1], 0.4)
    batch = json.loads((ALLENNLP / "sentences.json").read_text())[0]
    found, _ = elmo(torch.from_numpy(byte_ids(batch, 50, markers_in_text=True)))
    tolerance = 2e-5 if "layer_norm" in variant else 1e-5
    for k, representation in enumerate(found):
        expected = golden[f"elmo/{variant}/call0/rep{k}"]
        np.testing.assert_allclose(representation.detach().numpy(), expected, atol=tolerance, rtol=0)


def test_top_only_and_fixed_reach_every_mix() -> None:
    top = ElmoRepresentations(new_bilm(), count=2, dropout=0.0, top_only=True)
    layers, _ = top.bilm(IDS).without_boundaries()
    for representation in top(IDS).mixes:
        torch.testing.assert_close(representation, layers[-1])
    assert top.shares() == []
    assert top.penalty(1.0).item() == 0
    fixed = ElmoRepresentations(new_bilm(), count=2, dropout=0.0, fixed=[-9e10, 0.0, -9e10, -9e10])
    for representation in fixed(IDS).mixes:
        torch.testing.assert_close(representation, layers[1])
    assert not any(p.requires_grad for p in fixed.parameters())


def test_one_pass_of_the_bilm_serves_all_mixes() -> None:
    elmo, calls = ElmoRepresentations(new_bilm(), count=3), []
    elmo.bilm.register_forward_hook(lambda *_: calls.append(1))
    elmo(IDS)
    assert len(calls) == 1


@pytest.mark.parametrize("keep_boundaries", [False, True])
def test_dropout_in_training_only(keep_boundaries: bool) -> None:
    elmo = ElmoRepresentations(new_bilm(), dropout=0.5, keep_boundaries=keep_boundaries)
    torch.manual_seed(0)
    elmo.eval()
    first, second = elmo(IDS).mixes[0], elmo(IDS).mixes[0]
    assert torch.equal(first, second)
    elmo.train()
    dropped = elmo(IDS).mixes[0]
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * first[kept])
    assert 0.3 < kept.sum() / (first != 0).sum() < 0.7


def test_each_mix_has_a_dropout_of_its_own() -> None:
    elmo = ElmoRepresentations(new_bilm(), count=2, dropout=0.5).train()
    (one, two), _ = elmo(IDS)
    assert not torch.equal(one != 0, two != 0)


def test_a_frozen_bilm_is_not_trained_and_stays_in_evaluation_mode() -> None:
    bilm = new_bilm()
    elmo = ElmoRepresentations(bilm, count=2)
    assert not bilm.training  # although it came in training mode
    elmo.train()
    assert elmo.training
    assert not any(module.training for module in bilm.modules())
    before = {name: p.clone() for name, p in bilm.named_parameters()}
    optimizer = torch.optim.SGD([p for p in elmo.parameters() if p.requires_grad], lr=1.0)
    sum(r.square().sum() for r in elmo(IDS).mixes).backward()
    optimizer.step()
    assert all(p.grad is None for p in bilm.parameters())
    assert all(torch.equal(p, before[name]) for name, p in bilm.named_parameters())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in elmo.mixes.parameters())


def test_a_fine_tuned_bilm_gets_gradients_everywhere() -> None:
    elmo = ElmoRepresentations(new_bilm(), trainable=True).train()
    assert elmo.bilm.training
    elmo(IDS).mixes[0].square().sum().backward()
    for name, p in elmo.named_parameters():
        assert p.grad is not None, name
        assert p.grad.abs().sum() > 0, name
    assert elmo.eval().bilm.training is False


def test_fine_tuning_after_freezing() -> None:
    bilm = new_bilm()
    ElmoRepresentations(bilm)
    elmo = ElmoRepresentations(bilm, trainable=True)
    assert all(p.requires_grad for p in elmo.parameters())


@pytest.mark.parametrize("trainable", [True, False])
def test_without_gradients_nothing_is_kept(trainable: bool) -> None:
    elmo = ElmoRepresentations(new_bilm(), trainable=trainable)
    with torch.no_grad():
        assert not elmo(IDS).mixes[0].requires_grad
    assert torch.is_grad_enabled()


def test_the_penalty_of_all_mixes_can_be_added_to_a_loss() -> None:
    elmo = ElmoRepresentations(new_bilm(), count=2)
    set_mix(elmo.mixes[0], [1.0, 0.0, 0.0, 0.0], 1.0)
    set_mix(elmo.mixes[1], [0.0, 2.0, 0.0, 0.0], 1.0)
    penalty = elmo.penalty(0.1)
    assert penalty.item() == pytest.approx(0.5)
    penalty.backward()
    assert elmo.mixes[1].weights.grad.tolist() == pytest.approx([0.0, 0.4, 0.0, 0.0])


def test_a_batch_of_empty_sentences() -> None:
    ids = CASE.polyseme_ids([[], []])
    for norm in NORMS:
        (representation,), _ = ElmoRepresentations(new_bilm(), layer_norm=norm)(ids)
        assert representation.shape == (2, 0, 12)


def test_saved_and_loaded_parameters_give_the_same_representations() -> None:
    elmo = ElmoRepresentations(new_bilm(), count=2).eval()
    set_mix(elmo.mixes[0], [1.0, 0.0, 2.0, 0.0], 0.3)
    other = ElmoRepresentations(BiLM(elmo.bilm.config), count=2).eval()
    other.load_state_dict(elmo.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(elmo(IDS).mixes, other(IDS).mixes, strict=True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"count": 0}, "at least one mix"),
        ({"dropout": 1.5}, "dropout is 1.5"),
        ({"dropout": float("nan")}, "dropout is nan"),
        ({"layer_norm": "none"}, "only 'batch' and 'token' exist"),
        ({"fixed": [1.0]}, "1 weights were given for 4 layers"),
    ],
)
def test_representations_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ElmoRepresentations(new_bilm(), **options)
