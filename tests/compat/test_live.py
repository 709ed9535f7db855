"""Where the original packages are installed: ten calls with growing and shrinking batches, theirs beside ours.

pip install --no-deps bio-embeddings-allennlp simple_elmo; pip install tensorflow tf_keras smart_open
pip install --no-deps pytorch-pretrained-bert pytorch-transformers==1.1.0
pip install spacy overrides==3.1.0, and whatever else ``import allennlp.commands.elmo`` asks for
pytest -m slow tests/compat/test_live.py -s
"""

from __future__ import annotations

import importlib
import random
import sys
from types import ModuleType

import numpy as np
import pytest

from helpers.golden import golden

SKIP = golden("bilm-tf-generated/inference/skip2_relu")
PAIR = str(SKIP / "options.json"), str(SKIP / "weights.hdf5")
SIZES = (1, 3, 5, 8, 4, 2, 1, 6, 7, 3)
TOLERANCE = 1e-5

pytestmark = pytest.mark.slow


def original(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"{module} is not installed ({error})")


def batches() -> list[list[list[str]]]:
    draw = random.Random(7)
    words = ["The", "cat", "sat", "naïve", "日本語", "x" * 70, "bank", ".", "présent", "<S>"]
    return [[draw.choices(words, k=draw.randint(1, 12)) for _ in range(size)] for size in SIZES]


def test_elmo_of_allennlp() -> None:
    theirs = original("allennlp.modules.elmo")
    import torch

    from polyseme.compat import allennlp as ours

    settings = {"num_output_representations": 2, "dropout": 0.0, "do_layer_norm": False}
    original_elmo, elmo = theirs.Elmo(*PAIR, **settings).eval(), ours.Elmo(*PAIR, **settings).eval()  # type: ignore[attr-defined]
    largest = 0.0
    with torch.no_grad():
        for batch in batches():
            expected_ids, ids = theirs.batch_to_ids(batch), ours.batch_to_ids(batch)  # type: ignore[attr-defined]
            assert torch.equal(expected_ids, ids)
            expected, found = original_elmo(ids), elmo(ids)
            assert torch.equal(expected["mask"], found["mask"])
            for a, b in zip(expected["elmo_representations"], found["elmo_representations"], strict=True):
                largest = max(largest, (a - b).abs().max().item())
    print(f"largest difference from AllenNLP's Elmo: {largest:.1e}")
    assert largest <= TOLERANCE


def test_bilm_of_allennlp() -> None:
    theirs = original("allennlp.modules.elmo")
    import torch

    from polyseme.compat.allennlp import ElmoEmbedder

    bilm, embedder = theirs._ElmoBiLm(*PAIR).eval(), ElmoEmbedder(*PAIR)  # type: ignore[attr-defined]
    largest = 0.0
    for batch in batches():
        with torch.no_grad():
            layers = torch.stack(bilm(theirs.batch_to_ids(batch))["activations"], dim=1).numpy()  # type: ignore[attr-defined]
        for sentence, expected, found in zip(batch, layers, embedder.embed_batch(batch), strict=True):
            largest = max(largest, np.abs(expected[:, 1 : len(sentence) + 1] - found).max())
    print(f"largest difference from AllenNLP's biLM: {largest:.1e}")
    assert largest <= TOLERANCE


def test_elmo_embedder_of_allennlp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module asks spaCy 2 for a table of tags, which no embedding needs: an empty one stands in for it."""
    table = ModuleType("spacy.lang.en.tag_map")
    table.TAG_MAP = {}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, table.__name__, table)
    theirs = original("allennlp.commands.elmo")
    from polyseme.compat.allennlp import ElmoEmbedder

    embedders = theirs.ElmoEmbedder(*PAIR), ElmoEmbedder(*PAIR)  # type: ignore[attr-defined]
    largest = 0.0
    for number, batch in enumerate(batches()):
        if number % 2:
            both = [list(one.embed_sentences(batch, batch_size=3)) for one in embedders]
        else:
            both = [one.embed_batch(batch) for one in embedders]
        for expected, found in zip(*both, strict=True):
            assert expected.shape == found.shape
            largest = max(largest, np.abs(expected - found).max())
    print(f"largest difference from AllenNLP's ElmoEmbedder: {largest:.1e}")
    assert largest <= TOLERANCE


def test_elmo_model_of_simple_elmo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")  # its cells are not in Keras 3
    theirs = original("simple_elmo")
    from polyseme.compat.simple_elmo import ElmoModel

    original_model, model = theirs.ElmoModel(), ElmoModel()  # type: ignore[attr-defined]
    for one in (original_model, model):
        one.load(str(golden("nlpl/with_vocab.zip")), max_batch_size=4)
    largest = 0.0
    for number, batch in enumerate(batches()):
        layers, warmup = ("average", "top", "all")[number % 3], bool(number % 2)
        for name in ("get_elmo_vectors", "get_elmo_vector_average"):
            expected, found = (
                getattr(one, name)(batch, warmup=warmup, layers=layers) for one in (original_model, model)
            )
            assert expected.shape == found.shape
            largest = max(largest, np.abs(expected - found).max())
    print(f"largest difference from simple_elmo: {largest:.1e}")
    assert largest <= TOLERANCE
