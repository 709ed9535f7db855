"""ELMoForManyLangs: its numbers with fresh and carried state, its dictionaries, its classifier."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from helpers.golden import Carrying, assert_same_as_golden, files, golden
from polyseme.errors import FormatError
from polyseme.formats.detect import load
from polyseme.formats.manylangs import SHIPPED, find_architecture, read_dictionary
from polyseme.formats.native import save_native

MODELS = ("model", "model_char_only", "model_word_only", "model_clip_tanh")
SENTENCES: dict[str, list[list[str]]] = json.loads(golden("manylangs/sentences.json").read_text())
SEQUENCES = {
    "fresh": ["first"],
    "stateful": ["other", "first"],
    "stateful_repeat": ["first", "first"],
    "stateful_smaller": ["first", "other"],
}


def source(name: str) -> Path:
    return golden("manylangs/model.zip") if name == "model" else golden(f"manylangs/{name}")


def ranked(reader: Carrying, sentences: list[list[str]]) -> list[np.ndarray]:
    """[L+1, N, W] of each sentence; a sentence's row is its rank by decreasing length."""
    order = sorted(range(len(sentences)), key=lambda n: -len(sentences[n]))
    layers = reader.layers([sentences[n] for n in order])
    return [layers[order.index(n)] for n in range(len(sentences))]


def chosen(layers: np.ndarray, number: int) -> np.ndarray:
    """A layer by the program's numbers: −1 is the mean of all, −2 all."""
    return {-1: layers.mean(axis=0), -2: layers}[number] if number < 0 else layers[number]


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("name", files(*(f"manylangs/{name}_expected.npz" for name in MODELS)))
def test_fresh_and_carried(name: str, sequence: str) -> None:
    expected = np.load(golden(name))
    model = load(source(name.removeprefix("manylangs/").removesuffix("_expected.npz")))
    reader = Carrying(model)
    for batch in SEQUENCES[sequence]:
        found = ranked(reader, SENTENCES[batch])
    for number in range(-2, model.config.layers + 1):
        for i, layers in enumerate(found):
            key = f"{sequence}_layer{number}_sent{i}"
            assert_same_as_golden(chosen(layers, number), expected[key], name.removesuffix("_expected.npz"))


@pytest.mark.parametrize("name", files(*(f"manylangs/{name}_expected.npz" for name in MODELS)))
def test_ids(name: str) -> None:
    """Ours are theirs plus one, and zero where theirs are the ids of padding."""
    expected = np.load(golden(name))
    model = load(source(name.removeprefix("manylangs/").removesuffix("_expected.npz")))
    ids = model.indexer.batch([SENTENCES["first"][n] for n in expected["batch_order"]])
    mask = expected["batch_mask"] > 0
    theirs = [expected["batch_word_ids"][:, :, None]] if model.indexer.words else []
    theirs += [expected["batch_char_ids"]] if model.indexer.characters else []
    np.testing.assert_array_equal(ids, np.where(mask[:, :, None], np.concatenate(theirs, axis=2) + 1, 0))


@pytest.mark.parametrize("layer", [-1, 0, 2])
@pytest.mark.parametrize("kind", ["plain", "conll"])
def test_the_dumps_of_the_command_line(kind: str, layer: int) -> None:
    sentences = {
        "plain": [line.split("\t") for line in (golden("manylangs/cli") / "plain.txt").read_text().splitlines()],
        "conll": [["the", "cat", "sat"], ["今", "天氣"]],
    }[kind]
    found = ranked(Carrying(load(golden("manylangs/model_char_only"))), sentences)
    with h5py.File(golden("manylangs/cli") / f"{kind}.ly{layer}.hdf5") as expected:
        assert len(expected) == len(sentences)
        for sentence, layers in zip(sentences, found, strict=True):
            key = "\t".join(sentence).replace(".", "$period$").replace("/", "$backslash$")
            assert_same_as_golden(chosen(layers, layer), expected[key], "manylangs/cli")


def test_a_folder_and_its_zip_are_one_model(tmp_path: Path) -> None:
    shutil.unpack_archive(golden("manylangs/model.zip"), tmp_path)
    assert load(tmp_path).fingerprint() == load(golden("manylangs/model.zip")).fingerprint()


def test_the_classifier_is_the_softmax_of_the_words() -> None:
    folder = golden("manylangs/model_char_only")
    model = load(folder)
    assert model.softmax is not None and model.vocabulary is not None
    stored = torch.load(folder / "classifier.pkl", weights_only=True)
    np.testing.assert_array_equal(model.softmax.weight, stored["column_emb.weight"])
    np.testing.assert_array_equal(model.softmax.bias, stored["column_bias.weight"][:, 0])
    assert model.vocabulary.words[:4] == ("<UNK>", "<S>", "</S>", "<pad>")


def test_the_classifier_may_be_missing(tmp_path: Path) -> None:
    shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
    (tmp_path / "model" / "classifier.pkl").unlink()
    assert load(tmp_path / "model").softmax is None


def test_a_saved_model_reads_the_same_ids(tmp_path: Path) -> None:
    model = load(golden("manylangs/model.zip"))
    save_native(model, tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.indexer == model.indexer and again.vocabulary == model.vocabulary
    assert again.fingerprint() == model.fingerprint()


def test_a_line_of_one_field_is_the_ideographic_space(tmp_path: Path) -> None:
    path = tmp_path / "char.dic"
    path.write_text("a\t0\n\u3000\t1\nb c\t2\n", encoding="utf-8")
    assert read_dictionary(path) == {"a": 0, "\u3000": 1, "b c": 2}
    path.write_text("a\t0\n1\nb\t2\n", encoding="utf-8")
    assert read_dictionary(path) == {"a": 0, "\u3000": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\t0\nb\t0\n", "not 0 to 1, each once"),
        ("a\t0\nb\t2\n", "not 0 to 1, each once"),
        ("a\tx\n", "line 1: expected an entry, a tab and its id"),
        ("a\t0\t1\n", "line 1"),
        ("a\t0\n\nb\t1\n", "line 2"),
        ("a\t-1\n", "line 1"),
    ],
)
def test_dictionaries_that_are_none(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "word.dic").write_text(text)
    with pytest.raises(FormatError, match=reason):
        read_dictionary(tmp_path / "word.dic")


def test_a_dictionary_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "word.dic").write_bytes(b"\xff\xfea\t0\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_dictionary(tmp_path / "word.dic")


def test_where_the_architecture_is_looked_for(tmp_path: Path) -> None:
    other, folder = tmp_path / "elsewhere.json", tmp_path / "model"
    folder.mkdir()
    assert find_architecture(folder).values == SHIPPED
    (folder / "config.json").write_text(json.dumps({"config_path": str(other)}))
    assert find_architecture(folder).values == SHIPPED
    other.write_text(json.dumps({"encoder": {"dim": 1}}))
    assert find_architecture(folder).whole("encoder.dim") == 1
    (folder / "elsewhere.json").write_text(json.dumps({"encoder": {"dim": 2}}))
    assert find_architecture(folder).whole("encoder.dim") == 2


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("encoder", {"name": "lstm"}, "the encoder is of kind 'lstm'"),
        ("encoder", {"dim": 32}, "was expected"),
        ("token_embedder", {"activation": "gelu"}, "the activation is 'gelu'"),
        ("token_embedder", {"filters": [[1, 4], [2]]}, "a list of number pairs"),
    ],
)
def test_an_architecture_that_does_not_fit(tmp_path: Path, part: str, change: dict[str, object], reason: str) -> None:
    shutil.copytree(golden("manylangs/model_char_only"), tmp_path / "model")
    path = next((tmp_path / "model").glob("cnn*.json"))
    architecture = json.loads(path.read_text())
    architecture[part] |= change
    path.write_text(json.dumps(architecture))
    with pytest.raises(FormatError, match=reason):
        load(tmp_path / "model")
