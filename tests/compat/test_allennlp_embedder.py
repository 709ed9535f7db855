"""What AllenNLP 0.9 asserts of its ElmoEmbedder, its ``elmo`` command and its indexer, asserted of ours."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.golden import golden
from helpers.paths import FIXTURES, needs
from polyseme.compat.allennlp import ConfigurationError, ELMoCharacterMapper, ElmoEmbedder, _ElmoBiLm, batch_to_ids

ALLENNLP = FIXTURES / "bilm-tf" / "allennlp"
PAIR = str(ALLENNLP / "options.json"), str(ALLENNLP / "lm_weights.hdf5")
EGGS = "Michael went to the store to buy some eggs ."
FOUR = [
    EGGS,
    "Joel rolled down the street on his skateboard .",
    "test / this is a first sentence",
    "Take a look , then , at Tuesday 's elections in New York City , New Jersey and Virginia :",
]


@pytest.mark.shared
@needs(ALLENNLP)
class TestCommand:
    """``embed_file`` is what the command calls; ``polyseme embed`` is tested beside the job."""

    def write(self, tmp_path: Path, lines: list[str], *arguments: object, **settings: object) -> Path:
        text, out = tmp_path / "sentences.txt", tmp_path / "output.hdf5"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with text.open(encoding="utf-8") as file:
            ElmoEmbedder(*PAIR).embed_file(file, out, *arguments, **settings)  # type: ignore[arg-type]
        assert out.exists()
        return out

    @pytest.mark.parametrize("kind", ["all", "top", "average"])
    def test_one_sentence(self, tmp_path: Path, kind: str) -> None:
        layers = ElmoEmbedder(*PAIR).embed_sentence(EGGS.split())
        expected = {"all": layers, "top": layers[2], "average": (layers[0] + layers[1] + layers[2]) / 3}[kind]
        with h5py.File(self.write(tmp_path, [EGGS], kind)) as file:
            assert set(file) == {"0", "sentence_to_index"}
            assert file["0"].shape == ((3, 10, 32) if kind == "all" else (10, 32))
            np.testing.assert_allclose(file["0"], expected, rtol=1e-4)
            assert json.loads(file["sentence_to_index"][0]) == {EGGS: "0"}

    def test_four_sentences(self, tmp_path: Path) -> None:
        with h5py.File(self.write(tmp_path, FOUR, "all")) as file:
            assert set(file) == {"0", "1", "2", "3", "sentence_to_index"}
            for number, sentence in enumerate(FOUR):
                assert file[str(number)].shape == (3, len(sentence.split()), 32)
            assert json.loads(file["sentence_to_index"][0]) == {FOUR[n]: str(n) for n in range(4)}

    def test_sentences_as_keys(self, tmp_path: Path) -> None:
        with h5py.File(self.write(tmp_path, FOUR[:2], use_sentence_keys=True)) as file:
            assert set(file) == set(FOUR[:2])
            for sentence in FOUR[:2]:
                assert file[sentence].shape == (3, len(sentence.split()), 32)

    def test_sentences_forgotten(self, tmp_path: Path) -> None:
        with h5py.File(self.write(tmp_path, FOUR, forget_sentences=True)) as file:
            assert set(file) == {"0", "1", "2", "3"}
            for number, sentence in enumerate(FOUR):
                assert file[str(number)].shape == (3, len(sentence.split()), 32)

    def test_a_sentence_twice(self, tmp_path: Path) -> None:
        with h5py.File(self.write(tmp_path, [EGGS, EGGS])) as file:
            assert len(file) == 3
            assert set(file) == {"0", "1", "sentence_to_index"}
            assert file["0"].shape == file["1"].shape == (3, 10, 32)

    @pytest.mark.parametrize(
        ("lines", "settings"),
        [
            (["A", "", "", "B"], {}),
            ([EGGS, EGGS], {"use_sentence_keys": True}),
            ([EGGS], {"output_format": "none"}),
        ],
        ids=["empty line", "key twice", "format"],
    )
    def test_what_is_refused_leaves_no_file(self, tmp_path: Path, lines: list[str], settings: dict[str, bool]) -> None:
        with pytest.raises(ConfigurationError):
            self.write(tmp_path, lines, **settings)
        assert [path.name for path in tmp_path.iterdir()] == ["sentences.txt"]


@pytest.mark.shared
@needs(ALLENNLP)
class TestEmbedder:
    def test_the_embeddings_of_the_original_suite(self) -> None:
        rows = json.loads((ALLENNLP / "sentences.json").read_text())
        sentences = [rows[row][number].split() for number in range(len(rows[0])) for row in range(len(rows))]
        expected = []
        for number in range(len(rows[0])):
            for row in range(len(rows)):
                with h5py.File(ALLENNLP / f"lm_embeddings_{row}.hdf5") as file:
                    expected.append(np.concatenate(list(file[str(number)][...]), axis=-1))
        assert len(expected) == len(sentences)
        found = list(ElmoEmbedder(*PAIR).embed_sentences(sentences, len(rows)))
        assert len(found) == len(sentences)
        for layers, top in zip(found, expected, strict=True):
            np.testing.assert_array_almost_equal(layers[2], top)

    def test_an_empty_sentence(self) -> None:
        assert ElmoEmbedder(*PAIR).embed_sentence([]).shape == (3, 0, 1024)

    def test_an_empty_sentence_in_a_batch(self) -> None:
        assert len(list(ElmoEmbedder(*PAIR).embed_sentences([["This", "is", "a", "test"], []]))) == 2


def test_tokens_are_read_as_they_are_spelled() -> None:
    """The modules, the embedder and the batches: e with an accent is not composed, as the originals do not."""
    folder = golden("allennlp/skip2_relu")
    pair = str(folder / "options.json"), str(folder / "weights.hdf5")
    tokens = ["caf\u00e9", "cafe\u0301"]
    layers = ElmoEmbedder(*pair).embed_sentence(tokens)
    assert np.abs(layers[0, 0] - layers[0, 1]).max() > 1e-4
    expected = _ElmoBiLm(*pair)(batch_to_ids([tokens]))["activations"]
    np.testing.assert_allclose(layers, np.stack([one[0, 1:-1].numpy() for one in expected]), atol=1e-6)


def padded(*ids: int) -> list[int]:
    return [*ids, *[261] * (50 - len(ids))]


class TestIndexer:
    @pytest.mark.parametrize(
        ("word", "ids"),
        [
            ("<S>", padded(259, 257, 260)),
            ("</S>", padded(259, 258, 260)),
            (chr(256) + "t", padded(259, 197, 129, 117, 260)),
        ],
    )
    def test_boundaries_and_unicode(self, word: str, ids: list[int]) -> None:
        assert ELMoCharacterMapper().convert_word_to_character_ids(word) == ids

    def test_padding_of_a_sequence(self) -> None:
        ids = batch_to_ids([["Second", "."], ["a", "b", "c"]])[0].tolist()
        assert ids == [padded(259, 84, 102, 100, 112, 111, 101, 260), padded(259, 47, 260), [0] * 50]

    def test_tokens_that_are_added(self) -> None:
        assert ELMoCharacterMapper({"<first>": 1}).convert_word_to_character_ids("<first>") == padded(259, 2, 260)

    @pytest.mark.shared
    @needs(FIXTURES / "allennlp" / "char_ids.npz")
    @pytest.mark.parametrize("added", [True, False])
    def test_the_words_of_allennlp(self, added: bool) -> None:
        """Empty, over-long, cut within a character, with a lone surrogate."""
        told = json.loads((FIXTURES / "allennlp" / "char_ids_words.json").read_text(encoding="utf-8"))
        expected = np.load(FIXTURES / "allennlp" / "char_ids.npz")["with_added" if added else "plain"]
        mapper = ELMoCharacterMapper(told["tokens_to_add"] if added else None)
        assert [mapper.convert_word_to_character_ids(word) for word in told["words"]] == expected.tolist()
