"""What bilm-tf asserts of its batches, its model and its dumps, asserted of ours with the same inputs.

Its graphs have no equivalent: that they hold no trainable variables, how many variables and losses they count, and how
they are trained is not asserted here. Mixes are in tests/nn/test_mix.py, batches and perplexities of training in
tests/pretrain.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.golden import assert_same_as_golden, golden
from helpers.paths import FIXTURES, needs
from polyseme.compat.bilm import Batcher, TokenBatcher, dump_bilm_embeddings, dump_token_embeddings
from polyseme.compat.carried import CarriedReading
from polyseme.errors import InputError
from polyseme.formats.detect import load

SUITE = FIXTURES / "bilm-tf" / "bilm-tf"  # the files of bilm-tf's own tests
INFERENCE = "bilm-tf-generated/inference"
THREE = ["<S>", "</S>", "<UNK>", "the", "."]


def vocabulary(folder: Path, words: list[str]) -> Path:
    path = folder / "vocabulary.txt"
    path.write_text("\n".join(words), encoding="utf-8")
    return path


class TestBatches:
    def test_a_sentence_of_words(self, tmp_path: Path) -> None:
        """Numbers of lines; bilm-tf counts them from 0, its batches from 1."""
        batcher = TokenBatcher(vocabulary(tmp_path, THREE))
        assert (batcher.batch_sentences([["the", "unknown", "."]]) - 1).tolist() == [[0, 3, 2, 4, 1]]

    def test_a_sentence_read_backwards(self, tmp_path: Path) -> None:
        batcher = TokenBatcher(vocabulary(tmp_path, THREE))
        assert (batcher.batch_sentences([["the", "unknown", "."]]) - 1)[0, ::-1].tolist() == [1, 4, 2, 3, 0]

    @pytest.mark.parametrize(
        ("word", "ids"),
        [
            ("th", [258, 116, 104, 259, 260]),
            ("thhhhh", [258, 116, 104, 104, 259]),
            (chr(256) + "t", [258, 196, 128, 116, 259]),
            ("<S>", [258, 256, 259, 260, 260]),
            ("</S>", [258, 257, 259, 260, 260]),
        ],
    )
    def test_a_word_of_characters(self, tmp_path: Path, word: str, ids: list[int]) -> None:
        """Whether it is in the vocabulary (cached there) or not; in a batch ids are one more."""
        words = ["the", ".", chr(256) + "t", "<S>", "</S>", "<UNK>"]
        batch = Batcher(vocabulary(tmp_path, words), 5).batch_sentences([[word]]) - 1
        assert batch[0, 1].tolist() == ids
        assert batch[0, 0].tolist() == [258, 256, 259, 260, 260], "the sentence's begin"
        assert batch[0, 2].tolist() == [258, 257, 259, 260, 260], "and its end"

    @pytest.mark.shared
    @needs(SUITE)
    def test_two_sentences(self) -> None:
        batch = Batcher(SUITE / "vocab_test.txt", 50).batch_sentences([["The", "first", "sentence"], ["Second", "."]])

        def row(*ids: int) -> list[int]:
            return [259, *ids, 260, *[261] * (48 - len(ids))]

        assert batch.dtype == np.int32
        assert batch.tolist() == [
            [row(257), row(85, 105, 102), row(103, 106, 115, 116, 117), row(*(1 + c for c in b"sentence")), row(258)],
            [row(257), row(84, 102, 100, 112, 111, 101), row(47), row(258), [0] * 50],
        ]

    @pytest.mark.shared
    @needs(SUITE)
    def test_two_sentences_of_words(self) -> None:
        batch = TokenBatcher(SUITE / "data" / "vocab_test.txt").batch_sentences([["The", "first", "."], ["It", "said"]])
        assert batch.tolist() == [[2, 18, 75, 6, 1], [2, 67, 21, 1, 0]]


def sentences_and_tops() -> list[list[tuple[list[str], np.ndarray]]]:
    """Ten batches of three sentences, and the top layer that bilm-tf recorded for each."""
    rows = json.loads((SUITE / "lm_embeddings_sentences.json").read_text())
    batches = []
    for number in range(10):
        batch = []
        for row, sentences in enumerate(rows):
            with h5py.File(SUITE / f"lm_embeddings_{row}.hdf5") as file:
                batch.append((sentences[number].split(), np.concatenate(list(file[str(number)][...]), axis=-1)))
        batches.append(batch)
    return batches


@pytest.mark.shared
@needs(SUITE)
class TestModel:
    def test_ten_batches_and_the_rows_of_the_state(self) -> None:
        reading = CarriedReading(load(SUITE / "lm_weights.hdf5", options=SUITE / "options.json"))
        for batch in sentences_and_tops():
            for layers, (sentence, top) in zip(reading.read([one for one, _ in batch]), batch, strict=True):
                assert layers.shape[1] == len(sentence)
                np.testing.assert_allclose(layers[2], top, atol=1e-6)
        state = reading._rows
        assert state is not None and state.h.shape[2] == 3
        assert not state.rows(4).h[:, :, 3].any() and not state.rows(4).c[:, :, 3].any(), "no fourth row was read"
        reading.read([["x"] * 3] * 2)
        assert reading._rows is not None
        np.testing.assert_array_equal(reading._rows.h[:, :, 2], state.h[:, :, 2])
        np.testing.assert_array_equal(reading._rows.c[:, :, 2], state.c[:, :, 2])

    def test_ten_batches_by_dumped_words(self, tmp_path: Path) -> None:
        """The flow of its README: dump the vectors of all words, then read words instead of characters."""
        words = {"<S>", "</S>"} | {word for batch in sentences_and_tops() for sentence, _ in batch for word in sentence}
        for name in ("options.json", "lm_weights.hdf5"):
            shutil.copy(SUITE / name, tmp_path)
        (tmp_path / "vocab.txt").write_text("\n".join(sorted(words)), encoding="utf-8")
        files = [tmp_path / name for name in ("vocab.txt", "options.json", "lm_weights.hdf5")]
        dump_token_embeddings(*files, tmp_path / "embeddings.hdf5")
        model = load(tmp_path)
        assert model.config.characters is None
        reading, batcher = CarriedReading(model), TokenBatcher(tmp_path / "vocab.txt")
        for batch in sentences_and_tops():
            sentences = [sentence for sentence, _ in batch]
            np.testing.assert_array_equal(model.indexer.batch(sentences)[:, :, 0], batcher.batch_sentences(sentences))
            for layers, (sentence, top) in zip(reading.read(sentences), batch, strict=True):
                assert layers.shape[1] == len(sentence)
                np.testing.assert_allclose(layers[2], top, atol=1e-6)
        with pytest.raises(InputError, match="is not in the model's vocabulary"):
            reading.read([["unheard-of"]])


def test_the_dump_of_a_text(tmp_path: Path) -> None:
    folder, words = golden(f"{INFERENCE}/skip2_relu"), golden(f"{INFERENCE}/vocab.txt")
    dataset, out = golden(f"{INFERENCE}/dump") / "dataset.txt", tmp_path / "vectors.hdf5"
    dump_bilm_embeddings(words, dataset, folder / "options.json", folder / "weights.hdf5", out)
    with h5py.File(out) as found, h5py.File(golden(f"{INFERENCE}/dump") / "bilm_embeddings.hdf5") as expected:
        assert set(found) == set(expected)
        for key in expected:
            assert found[key].dtype == expected[key].dtype
            assert_same_as_golden(found[key], expected[key], "compat bilm")


def test_the_dump_of_a_vocabulary(tmp_path: Path) -> None:
    folder, words, out = golden(f"{INFERENCE}/skip2_relu"), golden(f"{INFERENCE}/vocab.txt"), tmp_path / "words.hdf5"
    dump_token_embeddings(words, folder / "options.json", folder / "weights.hdf5", out)
    with h5py.File(out) as found, h5py.File(golden(f"{INFERENCE}/word_input") / "token_embeddings.hdf5") as expected:
        assert_same_as_golden(found["embedding"], expected["embedding"], "compat bilm")


def test_what_needs_a_graph_names_its_replacement() -> None:
    with pytest.raises(
        ImportError, match=r"BidirectionalLanguageModel, which builds a TensorFlow graph; use elmo\.bilm"
    ):
        from polyseme.compat.bilm import BidirectionalLanguageModel  # noqa: F401
    with pytest.raises(ImportError, match=r"weight_layers, which builds a TensorFlow graph; use .*ScalarMix"):
        from polyseme.compat.bilm import weight_layers  # noqa: F401
