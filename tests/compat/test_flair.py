"""ELMoEmbeddings within flair itself: alone, side by side with others, by a model's name or its two files."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.golden import golden
from polyseme.compat.carried import CarriedReading
from polyseme.errors import ConfigError
from polyseme.formats.detect import load

pytest.importorskip("flair", reason="flair is not installed")

from flair.data import Sentence
from flair.embeddings import StackedEmbeddings
from flair.embeddings.base import load_embeddings

from polyseme.compat.flair import ELMoEmbeddings

SKIP = golden("bilm-tf-generated/inference/skip2_relu")
WORDS = [["The", "grass", "is", "green", "."], ["So", "it", "is"]]


def expected() -> list[np.ndarray]:
    return CarriedReading(load(SKIP)).read(WORDS)


@pytest.mark.parametrize("mode", ["all", "top", "average"])
def test_layers_side_by_side(mode: str) -> None:
    sentences = [Sentence(" ".join(words), use_tokenizer=False) for words in WORDS]
    embeddings = ELMoEmbeddings(SKIP, embedding_mode=mode)
    embeddings.embed(sentences)
    for sentence, layers in zip(sentences, expected(), strict=True):
        for number, token in enumerate(sentence):
            chosen = {"all": layers[:, number].ravel(), "top": layers[-1, number], "average": layers[:, number].mean(0)}
            assert len(token.embedding) == embeddings.embedding_length
            np.testing.assert_allclose(token.embedding.cpu().numpy(), chosen[mode], atol=1e-6)


def test_in_a_stack_and_by_two_files() -> None:
    one = ELMoEmbeddings(SKIP)
    two = ELMoEmbeddings("mine", str(SKIP / "options.json"), str(SKIP / "weights.hdf5"), "top")
    sentence = Sentence(" ".join(WORDS[0]), use_tokenizer=False)
    StackedEmbeddings([one, two]).embed(sentence)
    layers = expected()[0]
    for number, token in enumerate(sentence):
        both = np.concatenate([layers[:, number].ravel(), layers[-1, number]])
        assert torch.allclose(token.embedding.cpu(), torch.from_numpy(both), atol=1e-6)
    assert one.name == f"0-elmo-{SKIP}" and two.name == "1-elmo-mine"  # so flair tells the parts of a stack apart


def test_a_stack_is_saved_and_loaded_by_flair() -> None:
    files = str(SKIP / "options.json"), str(SKIP / "weights.hdf5")
    stack = StackedEmbeddings([ELMoEmbeddings(SKIP), ELMoEmbeddings("mine", *files, "top")])
    loaded = load_embeddings(stack.save_embeddings())
    assert loaded.get_names() == stack.get_names()
    first, second = (Sentence(" ".join(WORDS[0]), use_tokenizer=False) for _ in range(2))
    stack.embed(first)
    loaded.embed(second)
    for before, after in zip(first, second, strict=True):
        assert torch.equal(before.embedding, after.embedding)


def test_what_does_not_fit() -> None:
    with pytest.raises(ConfigError, match="give both or neither"):
        ELMoEmbeddings("original", options_file="options.json")
    with pytest.raises(ConfigError, match="'all', 'top' or 'average'"):
        ELMoEmbeddings(SKIP, embedding_mode="bottom")
