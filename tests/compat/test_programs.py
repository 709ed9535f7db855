"""Programs as people wrote them for the old packages; only their import lines have changed.

Each is one way of calling that is found in notebooks and theses again and again.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import golden

SKIP = golden("bilm-tf-generated/inference/skip2_relu")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """Options and weights, in two folders."""
    (tmp_path / "options").mkdir()
    (tmp_path / "weights").mkdir()
    options = shutil.copy(SKIP / "options.json", tmp_path / "options" / "elmo_options.json")
    weights = shutil.copy(SKIP / "weights.hdf5", tmp_path / "weights" / "elmo_weights.hdf5")
    return str(options), str(weights)


def test_1_a_tagger_that_trains_the_mix(pair: tuple[str, str]) -> None:
    options_file, weight_file = pair
    import torch
    import torch.nn as nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    from polyseme.compat.allennlp import Elmo, batch_to_ids

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.elmo = Elmo(options_file, weight_file, 2, dropout=0)
            self.lstm = nn.LSTM(16, 8, batch_first=True, bidirectional=True)
            self.out = nn.Linear(16, 3)

        def forward(self, sentences):
            character_ids = batch_to_ids(sentences)
            embeddings = self.elmo(character_ids)
            x, mask = embeddings["elmo_representations"][0], embeddings["mask"]
            packed = pack_padded_sequence(x, mask.sum(dim=1), batch_first=True, enforce_sorted=False)
            hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return self.out(hidden), mask

    torch.manual_seed(0)
    model = Tagger()
    sentences = [["First", "sentence", "."], ["Another", "."]]
    labels = torch.tensor([[0, 1, 2], [0, 2, -100]])
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.02)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        logits, mask = model(sentences)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert losses[-1] < losses[0]
    assert model.elmo.scalar_mix_0.gamma.item() != 1
    assert all(p.grad is None for name, p in model.named_parameters() if "_elmo_lstm" in name)


def test_2_all_arguments(pair: tuple[str, str]) -> None:
    options_file, weight_file = pair
    from polyseme.compat.allennlp import Elmo, batch_to_ids

    elmo = Elmo(
        options_file,
        weight_file,
        num_output_representations=1,
        requires_grad=True,
        do_layer_norm=True,
        keep_sentence_boundaries=True,
        scalar_mix_parameters=[0.1, 0.2, 0.7],
        dropout=0.0,
    )
    output = elmo(batch_to_ids([["Hello", "world"], ["Hi"]]))
    output["elmo_representations"][0].sum().backward()
    assert output["elmo_representations"][0].shape == (2, 4, 16)
    assert output["mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert all(p.grad is not None for name, p in elmo.named_parameters() if "_elmo_lstm" in name)
    assert not elmo.scalar_mix_0.gamma.requires_grad


def test_3_documents_of_sentences(pair: tuple[str, str]) -> None:
    options_file, weight_file = pair
    import torch

    from polyseme.compat.allennlp import Elmo, batch_to_ids

    documents = [[["One", "sentence"], ["Two", "."]], [["Three"], ["and", "four"]]]
    character_ids = torch.stack([batch_to_ids(document) for document in documents])
    assert character_ids.shape == (2, 2, 2, 50)
    output = Elmo(options_file, weight_file, 1, dropout=0)(character_ids)
    assert output["elmo_representations"][0].shape == (2, 2, 2, 16)
    assert output["mask"].shape == (2, 2, 2)


def test_4_one_sentence_after_the_other(pair: tuple[str, str]) -> None:
    options_file, weight_file = pair
    from polyseme.compat.allennlp import ElmoEmbedder

    elmo = ElmoEmbedder(options_file, weight_file, cuda_device=-1)
    tokens = ["I", "ate", "an", "apple", "for", "breakfast"]
    vectors = elmo.embed_sentence(tokens)
    assert len(vectors) == 3 and len(vectors[0]) == len(tokens)
    average = (vectors[0] + vectors[1] + vectors[2]) / 3
    top = vectors[2]
    assert average.shape == top.shape == (6, 16)
    again = elmo.embed_sentence(tokens)
    np.testing.assert_array_equal(again[0], vectors[0])
    assert np.abs(again[2] - vectors[2]).max() > 1e-4, "the state is carried"


def test_5_a_file_of_vectors(pair: tuple[str, str], tmp_path: Path) -> None:
    options_file, weight_file = pair
    import h5py

    from polyseme.compat.allennlp import ElmoEmbedder

    elmo = ElmoEmbedder(options_file=options_file, weight_file=weight_file)
    lines = ["The cat sat .", "It was late ."]
    vectors = list(elmo.embed_sentences((line.split() for line in lines), batch_size=2))
    elmo = ElmoEmbedder(options_file=options_file, weight_file=weight_file)
    elmo.embed_file(io.StringIO("\n".join(lines)), str(tmp_path / "elmo.hdf5"), "average")
    with h5py.File(tmp_path / "elmo.hdf5", "r") as file:
        sentence_to_index = json.loads(file.get("sentence_to_index")[0])
        for line, layers in zip(lines, vectors, strict=True):
            np.testing.assert_allclose(file[sentence_to_index[line]][...], layers.mean(axis=0), atol=1e-6)


def test_6_simple_elmo() -> None:
    from polyseme.compat.simple_elmo import ElmoModel

    model = ElmoModel()
    model.load(str(golden("nlpl/with_vocab.zip")), max_batch_size=32)
    sentences = [["The", "cat", "sat", "on", "the", "mat", "."], ["Dogs", "bark", "."]]
    vectors = model.get_elmo_vectors(sentences, layers="average")
    assert vectors.shape == (2, 7, model.vector_size)
    averaged = model.get_elmo_vector_average(sentences)
    np.testing.assert_allclose(np.linalg.norm(averaged, axis=1), 1)


def test_7_many_languages() -> None:
    from polyseme.compat.elmoformanylangs import Embedder

    e = Embedder(str(golden("manylangs/model.zip")), batch_size=64)
    sents = [["今", "天", "天氣", "真", "好"], ["좋다", "."]]
    vectors = e.sents2elmo(sents)
    assert isinstance(vectors, list) and [len(one) for one in vectors] == [5, 2]
    every = e.sents2elmo(sents, output_layer=-2)
    assert [one.shape[0] for one in every] == [3, 3]
    for layer in (0, 1, 2):
        assert e.sents2elmo(sents, output_layer=layer)[0].shape == vectors[0].shape


def test_8_tensorflow_hub_with_strings() -> None:
    from polyseme.compat import tensorflow_hub as hub

    elmo = hub.Module(str(SKIP))
    embeddings = elmo(["the cat is on the mat", "dogs are in the fog"], signature="default", as_dict=True)["elmo"]
    assert embeddings.shape == (2, 6, 16)
    sentence = elmo(["the cat is on the mat"], signature="default", as_dict=True)["default"]
    np.testing.assert_allclose(sentence[0], embeddings[0].mean(axis=0), atol=1e-6)


def test_9_tensorflow_hub_with_tokens() -> None:
    from polyseme.compat import tensorflow_hub as hub

    elmo = hub.Module(str(SKIP))
    tokens_input = [["the", "cat", "is", "on", "the", "mat"], ["dogs", "are", "in", "the", "fog", ""]]
    tokens_length = [6, 5]
    embeddings = elmo(inputs={"tokens": tokens_input, "sequence_len": tokens_length}, signature="tokens", as_dict=True)[
        "elmo"
    ]
    assert embeddings.shape == (2, 6, 16) and not embeddings[1, 5].any()


def test_10_flair() -> None:
    pytest.importorskip("flair", reason="flair is not installed")
    from flair.data import Sentence
    from flair.embeddings import StackedEmbeddings

    from polyseme.compat.flair import ELMoEmbeddings

    elmo = ELMoEmbeddings(str(SKIP))
    sentence = Sentence("The grass is green .")
    StackedEmbeddings([elmo]).embed(sentence)
    assert [len(token.embedding) for token in sentence] == [3 * 16] * 5


def test_11_proteins(pair: tuple[str, str]) -> None:
    options_file, weight_file = pair
    from polyseme.compat.allennlp import ElmoEmbedder

    seqvec = ElmoEmbedder(options_file, weight_file, cuda_device=-1)
    embedding = seqvec.embed_sentence(list("SEQWENCE"))
    per_residue = embedding.sum(axis=0)
    per_protein = per_residue.mean(axis=0)
    assert per_residue.shape == (8, 16) and per_protein.shape == (16,)
    from polyseme import Elmo

    ours = Elmo.from_pretrained(weight_file, options=options_file, mix="sum").encode_tokens([list("SEQWENCE")])[0]
    np.testing.assert_allclose(ours.vectors, per_residue, atol=1e-5)


def test_12_bilm(pair: tuple[str, str], tmp_path: Path) -> None:
    options_file, weight_file = pair
    import h5py

    from polyseme.compat.bilm import Batcher, TokenBatcher, dump_bilm_embeddings, dump_token_embeddings

    raw_context = ["Pretrained biLMs compute representations useful for NLP tasks .", "They give state of the art ."]
    tokenized_context = [sentence.split() for sentence in raw_context]
    all_tokens = {"<S>", "</S>"} | {token for sentence in tokenized_context for token in sentence}
    vocab_file, dataset_file = str(tmp_path / "vocab_small.txt"), str(tmp_path / "dataset.txt")
    Path(vocab_file).write_text("\n".join(all_tokens))
    Path(dataset_file).write_text("\n".join(raw_context))

    assert Batcher(vocab_file, 50).batch_sentences(tokenized_context).shape == (2, 11, 50)
    dump_bilm_embeddings(vocab_file, dataset_file, options_file, weight_file, str(tmp_path / "elmo.hdf5"))
    with h5py.File(tmp_path / "elmo.hdf5", "r") as file:
        assert file["0"][...].shape == (3, 9, 16) and file["1"][...].shape == (3, 7, 16)
    dump_token_embeddings(vocab_file, options_file, weight_file, str(tmp_path / "tokens.hdf5"))
    ids = TokenBatcher(vocab_file).batch_sentences(tokenized_context)
    with h5py.File(tmp_path / "tokens.hdf5", "r") as file:
        assert file["embedding"].shape == (len(all_tokens), 8)
    assert ids.shape == (2, 11) and ids.min() == 0 and ids.max() <= len(all_tokens)
