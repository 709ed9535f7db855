"""The reference of these tests reproduces the original programs; only then may it judge polyseme."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paths import FIXTURES, needs
from helpers.reference import (
    ReferenceBiLM,
    batch_layer_norm,
    byte_ids,
    from_torch_layout,
    mix,
    options_for,
    random_weights,
    unicode_ids,
    without_boundaries,
)
from helpers.reference.released import read_hdf5, read_model

BILM_TF = FIXTURES / "bilm-tf-generated"
MANYLANGS = FIXTURES / "manylangs"
ALLENNLP = FIXTURES / "allennlp"
ORIGINALS = FIXTURES / "bilm-tf"

MODELS = (
    *("skip2_relu", "clip_binding", "layers1", "layers3_skip", "layers3_noskip_tanh", "noproj_cnn"),
    *("highway0", "highway3_tanh", "lstm_noproj", "noclip", "maxchars16"),
)


def assert_states(state: Any, expected: Any, tolerance: float) -> None:
    for (direction, layer), (cells, outputs) in state.items():
        name = f"state_{('forward', 'backward')[direction]}_{layer}"
        np.testing.assert_allclose(cells, expected[f"{name}_c"], atol=tolerance, rtol=0)
        np.testing.assert_allclose(outputs, expected[f"{name}_h"], atol=tolerance, rtol=0)


@pytest.mark.shared
@needs(BILM_TF)
@pytest.mark.parametrize("name", MODELS)
def test_bilm_tf_inference(name: str) -> None:
    """Ids exact; token vectors, all layers (padding too) and the states after four carried batches."""
    model, expected = read_model(BILM_TF / "inference" / name), np.load(BILM_TF / "inference" / name / "expected.npz")
    width = model.options["char_cnn"]["max_characters_per_token"]
    tolerance = 2e-5 if name == "maxchars16" else 1e-5
    state = model.zero_state(8)
    for i, batch in enumerate(json.loads((BILM_TF / "inference" / "sentences.json").read_text())):
        ids = byte_ids(batch, width, markers_in_text=True)
        np.testing.assert_array_equal(ids, expected[f"b{i}_ids"])
        tokens = model.token_vectors(ids, None)
        np.testing.assert_allclose(tokens, expected[f"b{i}_token_embeddings"], atol=tolerance, rtol=0)
        lengths = [len(sentence) + 2 for sentence in batch]
        layers = without_boundaries(model(ids, state=state), lengths)
        np.testing.assert_allclose(
            layers.transpose(1, 0, 2, 3), expected[f"b{i}_lm_embeddings"], atol=tolerance, rtol=0
        )
    assert_states(state, expected, tolerance)


@pytest.mark.shared
@needs(BILM_TF)
def test_bilm_tf_word_input() -> None:
    folder = BILM_TF / "inference" / "word_input"
    lstm, expected = read_model(folder), np.load(folder / "expected.npz")
    model = ReferenceBiLM(
        lstm.options,
        {name: array for name, array in lstm.weights.items() if name.startswith("RNN")}
        | read_hdf5(folder / "token_embeddings.hdf5"),
    )
    state = model.zero_state(8)
    for i in range(2):
        ids = expected[f"b{i}_ids"].astype(np.int64)
        lengths = (ids > 0).sum(axis=1).tolist()
        layers = without_boundaries(model(None, ids, state=state), lengths)
        np.testing.assert_allclose(layers.transpose(1, 0, 2, 3), expected[f"b{i}_lm_embeddings"], atol=1e-5, rtol=0)
    assert_states(state, expected, 1e-5)


@pytest.mark.shared
@needs(ORIGINALS)
@pytest.mark.parametrize(
    ("folder", "sentences"), [("bilm-tf", "lm_embeddings_sentences.json"), ("allennlp", "sentences.json")]
)
def test_golden_data_of_the_original_test_suites(folder: str, sentences: str) -> None:
    """The top layer of the first four of ten carried batches of three rows."""
    model = read_model(ORIGINALS / folder, "lm_weights.hdf5")
    width = model.options["char_cnn"]["max_characters_per_token"]
    rows = json.loads((ORIGINALS / folder / sentences).read_text())
    state = model.zero_state(3)
    for i in range(4):
        batch = [rows[k][i].split() for k in range(3)]
        top = model(byte_ids(batch, width, markers_in_text=True), state=state)[-1]
        for k, sentence in enumerate(batch):
            golden = read_hdf5(ORIGINALS / folder / f"lm_embeddings_{k}.hdf5")[str(i)]
            mine = top[k, 1 : len(sentence) + 1]
            np.testing.assert_allclose(mine, np.concatenate(list(golden), axis=-1), atol=1e-5, rtol=0)


@pytest.mark.shared
@needs(BILM_TF)
@pytest.mark.parametrize("case", range(16))
def test_bilm_tf_weight_layers(case: int) -> None:
    settings = json.loads((BILM_TF / "weight_layers" / "cases.json").read_text())["cases"][case]
    stored, name = np.load(BILM_TF / "weight_layers" / "weight_layers.npz"), settings["case"]
    layers = stored[f"{name}_lm_embeddings"].astype(np.float64).transpose(1, 0, 2, 3)
    mask, gamma = stored[f"{name}_mask"], float(stored[f"{name}_gamma"][0])
    if settings["use_top_only"]:
        np.testing.assert_allclose(gamma * layers[-1], stored[f"{name}_weighted_set"], atol=1e-5, rtol=0)
        return
    weights = stored[f"{name}_W"].astype(np.float64)
    norm = "batch" if settings["do_layer_norm"] else "none"
    np.testing.assert_allclose(
        mix(layers, weights, gamma, norm, mask), stored[f"{name}_weighted_set"], atol=1e-5, rtol=0
    )
    np.testing.assert_allclose(
        mix(layers, 0 * weights, 1.0, norm, mask), stored[f"{name}_weighted_init"], atol=1e-5, rtol=0
    )
    assert settings["l2_coef"] * float(weights @ weights) == pytest.approx(float(stored[f"{name}_reg"][0]), abs=1e-6)


@pytest.mark.shared
@needs(ALLENNLP)
@pytest.mark.parametrize("name", ["skip2_relu", "layers3_skip", "clip_binding"])
def test_allennlp_mixes(name: str) -> None:
    """AllenNLP mixes before it removes the boundaries, so that its layer norm counts them."""
    model, expected = read_model(ALLENNLP / name), np.load(ALLENNLP / name / "expected.npz")
    weights = expected["elmo/mix_weights"].astype(np.float64)
    for norm, variant in (("none", "keep_boundaries"), ("batch", "keep_boundaries_layer_norm")):
        state = model.zero_state(8)
        for call, batch in enumerate(json.loads((ALLENNLP / "sentences.json").read_text())[:2]):
            ids = byte_ids(batch, 50, markers_in_text=True)
            mask = ids.any(axis=-1)
            layers = model(ids, state=state)
            layers[0] *= mask[..., None]
            mixed = mix(layers, weights, 1.7, norm, mask)
            golden = expected[f"elmo/{variant}/call{call}/rep0"]
            np.testing.assert_allclose(mixed, golden, atol=2e-5 if norm == "batch" else 1e-5, rtol=0)


def read_dictionary(path: Path) -> dict[str, int] | None:
    if not path.exists():
        return None
    entries = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            *entry, number = line.strip().split("\t")
            entries[entry[0] if entry else "\u3000"] = int(number)
    return entries


@pytest.mark.shared
@needs(MANYLANGS)
@pytest.mark.parametrize("name", ["model", "model_char_only", "model_word_only", "model_clip_tanh"])
def test_elmo_for_many_langs(name: str) -> None:
    """Ids exact; every layer of every sentence, from a fresh state and then carried (rows by decreasing length)."""
    folder, expected = MANYLANGS / name, np.load(MANYLANGS / f"{name}_expected.npz")
    config = json.loads((folder / "cnn_50_100_512_4096_sample.json").read_text())
    arrays: dict[str, Any] = {}
    for file in ("token_embedder.pkl", "encoder.pkl"):
        arrays |= {k: v.numpy() for k, v in torch.load(folder / file, weights_only=True).items()}
    depth, embedder = config["encoder"]["n_layers"], config["token_embedder"]
    options = {"lstm": config["encoder"] | {"use_skip_connections": True}, "char_cnn": embedder}
    model = ReferenceBiLM(options, from_torch_layout(arrays, depth), shifted=False)
    characters = read_dictionary(folder / "char.dic") if embedder["char_dim"] else None
    words = read_dictionary(folder / "word.dic") if embedder["word_dim"] else None
    sentences = json.loads((MANYLANGS / "sentences.json").read_text())
    state = model.zero_state(8)

    def run(batch: list[list[str]]) -> dict[int, Any]:
        order = sorted(range(len(batch)), key=lambda i: -len(batch[i]))
        ranked = [batch[i] for i in order]
        character_ids, word_ids = unicode_ids(ranked, embedder["max_characters_per_token"], characters, words)
        if batch == sentences["first"]:
            if character_ids is not None:
                np.testing.assert_array_equal(character_ids, expected["batch_char_ids"])
            if word_ids is not None:
                np.testing.assert_array_equal(word_ids, expected["batch_word_ids"])
        layers = model(character_ids, word_ids, lengths=[len(s) + 2 for s in ranked], state=state)
        return {i: layers[:, row, 1 : len(batch[i]) + 1] for row, i in enumerate(order)}

    for sequence, batch in (("fresh", sentences["first"]), ("stateful_smaller", sentences["other"])):
        for i, layers in run(batch).items():
            for layer in range(depth + 1):
                golden = expected[f"{sequence}_layer{layer}_sent{i}"]
                np.testing.assert_allclose(layers[layer], golden, atol=1e-5, rtol=0)


def test_random_models_make_both_clips_bind() -> None:
    """The clip tests mean nothing unless clipped and unclipped models differ by much."""
    free, bound = options_for(cell_clip=None, proj_clip=None), options_for(cell_clip=0.3, proj_clip=0.2)
    weights, ids = random_weights(free, 1), byte_ids([["one"], ["two", "three"]], 12)
    unclipped, clipped = ReferenceBiLM(free, weights)(ids), ReferenceBiLM(bound, weights)(ids)
    assert np.abs(unclipped - clipped)[1:].max() > 0.1
    assert np.isclose(np.abs(clipped[1]), 0.2).mean() > 0.2


def test_batch_layer_norm_gives_mean_zero_and_variance_one_over_what_the_mask_shows() -> None:
    layer = np.random.default_rng(0).standard_normal((2, 3, 4)) * 3 + 1
    mask = np.array([[True, True, False], [True, False, False]])
    shown = batch_layer_norm(layer, mask)[mask]
    assert shown.mean() == pytest.approx(0, abs=1e-12)
    assert shown.var() == pytest.approx(1, abs=1e-9)
