"""Embedder gives what ELMoForManyLangs recorded, for every layer, also after other calls."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.golden import assert_same_as_golden, files, golden
from polyseme.compat.elmoformanylangs import Embedder
from polyseme.errors import ConfigError

SENTENCES = json.loads(golden("manylangs/sentences.json").read_text(encoding="utf-8"))
#: What was read before, and what is read then.
SEQUENCES = {
    "fresh": (None, "first"),
    "stateful": ("other", "first"),
    "stateful_repeat": ("first", "first"),
    "stateful_smaller": ("first", "other"),
}
#: This one is committed as it was downloaded.
FOLDERS = {"manylangs/model_expected.npz": "manylangs/model.zip"}
MODELS = ("model", "model_char_only", "model_word_only", "model_clip_tanh")


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("name", files(*(f"manylangs/{name}_expected.npz" for name in MODELS)))
def test_the_recorded_vectors(name: str, sequence: str) -> None:
    expected = np.load(golden(name))
    folder = golden(FOLDERS.get(name, name.removesuffix("_expected.npz")))
    before, now = SEQUENCES[sequence]
    layers = sorted({int(key.split("_layer")[1].split("_")[0]) for key in expected if "_layer" in key})
    assert {-2, -1, 0, 1} <= set(layers)
    for layer in layers:
        embedder = Embedder(folder)
        if before:
            embedder.sents2elmo(SENTENCES[before])
        for number, found in enumerate(embedder.sents2elmo(SENTENCES[now], output_layer=layer)):
            assert_same_as_golden(found, expected[f"{sequence}_layer{layer}_sent{number}"], "compat manylangs")


def test_several_batches_have_one_order() -> None:
    folder, sentences = golden("manylangs/model.zip"), [["a"] * size for size in (1, 5, 2, 4, 3)]
    first, second = (Embedder(folder, batch_size=2).sents2elmo(sentences) for _ in range(2))
    assert [one.shape[0] for one in first] == [1, 5, 2, 4, 3]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="a layer from 0 to 2, -1 or -2"):
        Embedder(golden("manylangs/model.zip")).sents2elmo([["a"]], output_layer=3)
