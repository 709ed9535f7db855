"""options.json and HDF5 as bilm-tf reads them: its own numbers, its names, its quirks; and written again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import Carrying, assert_same_as_golden, bilm_tf_layers, files, golden
from helpers.small_models import configs, small_model
from polyseme.bilm_config import BiLMConfig
from polyseme.errors import FormatError, InputError
from polyseme.formats.allennlp import save_allennlp
from polyseme.formats.bilm_tf import load_bilm_tf, save_bilm_tf, special_tokens
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import load_native, save_native
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary

INFERENCE = "bilm-tf-generated/inference"
MODELS = ("skip2_relu", "clip_binding", "layers1", "layers3_skip", "layers3_noskip_tanh", "noproj_cnn")
MODELS += ("highway0", "highway3_tanh", "lstm_noproj", "noclip", "maxchars16")


def check_batches(model: StoredModel, folder: Path, batches: list[list[list[str]]], file: str = "expected.npz") -> None:
    """Everything that bilm-tf gave for batches read one after the other, and its state after the last."""
    expected = np.load(folder / file)
    family = f"bilm-tf/{folder.name}"
    reader = Carrying(model)
    for i, batch in enumerate(batches):
        ids = model.indexer.batch(batch)
        np.testing.assert_array_equal(ids.reshape(expected[f"b{i}_ids"].shape), expected[f"b{i}_ids"])
        output = reader.read(batch)
        with torch.no_grad():
            tokens = reader.bilm.encode_tokens(torch.from_numpy(ids))
        assert_same_as_golden(tokens, expected[f"b{i}_token_embeddings"], family)
        layers = bilm_tf_layers(reader, output, torch.from_numpy(ids))
        assert_same_as_golden(layers, expected[f"b{i}_lm_embeddings"], family)
        np.testing.assert_array_equal(output.lengths - 2, expected[f"b{i}_lengths"])
        np.testing.assert_array_equal(output.mask[:, 2:], expected[f"b{i}_mask"])
    state = reader.state.rows(8)
    for d, direction in enumerate(("forward", "backward")):
        for layer in range(model.config.layers):
            assert_same_as_golden(state.h[d, layer], expected[f"state_{direction}_{layer}_h"], family)
            assert_same_as_golden(state.c[d, layer], expected[f"state_{direction}_{layer}_c"], family)


@pytest.mark.parametrize("name", files(*(f"{INFERENCE}/{name}" for name in MODELS)))
def test_the_numbers_of_bilm_tf(name: str) -> None:
    check_batches(load(golden(name)), golden(name), json.loads(golden(f"{INFERENCE}/sentences.json").read_text()))


@pytest.mark.parametrize("name", files("bilm-tf/bilm-tf", "bilm-tf/allennlp"))
def test_the_golden_data_of_the_original_test_suites(name: str) -> None:
    folder = golden(name)
    reader = Carrying(load(folder))
    sentences = next(folder.glob("*sentences.json"))
    rows = [[line.split() for line in lines] for lines in json.loads(sentences.read_text())]
    datasets = [h5py.File(folder / f"lm_embeddings_{k}.hdf5") for k in range(3)]
    for i in range(10):
        for k, layers in enumerate(reader.layers([row[i] for row in rows])):
            halves = np.stack(np.split(layers[-1], 2, axis=1))  # [2, N, D] forward and backward
            assert_same_as_golden(halves, datasets[k][str(i)], name)


@pytest.mark.parametrize("name", files("bilm-tf/allennlp"))
def test_the_token_vectors_of_allennlp(name: str) -> None:
    """Row i belongs to line i of the vocabulary, in which the boundaries are special."""
    folder = golden(name)
    words = Vocabulary.read_bilm_tf(folder / "vocab_test.txt").words
    model = load_bilm_tf(folder / "options.json", folder / "lm_weights.hdf5", folder / "vocab_test.txt")
    with torch.no_grad():
        vectors = BiLM.of(model).token_encoder(torch.from_numpy(model.indexer.rows(words)))
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        assert_same_as_golden(vectors, file["embedding"], "bilm-tf/allennlp token vectors")


def test_a_vocabulary_without_boundaries_hits_its_last_word(tmp_path: Path) -> None:
    folder = golden(f"{INFERENCE}/skip2_relu")
    for file in ("options.json", "weights.hdf5"):
        shutil.copy(folder / file, tmp_path)
    shutil.copy(golden(f"{INFERENCE}/vocab_no_boundaries.txt"), tmp_path / "vocab.txt")
    batch = [["the", "last", "cat"], ["last", "<S>", "</S>"]]
    check_batches(load(tmp_path), folder, [batch], "expected_vocab_no_boundaries.npz")


@pytest.mark.parametrize(
    ("words", "specials"),
    [
        (None, {"<S>": 256, "</S>": 257}),
        (("<S>", "</S>", "a"), {"<S>": 256, "</S>": 257}),
        (("<S>", "a"), {"<S>": 256, "a": 257}),
        (("</S>", "a"), {"</S>": 257, "a": 256}),
        (("a", "b"), {"b": 257}),
        (("a", "<S>"), {"<S>": 257}),
        ((), {}),
    ],
)
def test_which_tokens_are_special(words: tuple[str, ...] | None, specials: dict[str, int]) -> None:
    assert special_tokens(None if words is None else Vocabulary(words)) == specials


@pytest.mark.parametrize("separate", [True, False], ids=["own file", "among the weights"])
def test_a_model_of_word_ids(tmp_path: Path, separate: bool) -> None:
    source = golden(f"{INFERENCE}/word_input")
    options = json.loads((source / "options.json").read_text())
    del options["char_cnn"]
    (tmp_path / "options.json").write_text(json.dumps(options))
    shutil.copy(golden(f"{INFERENCE}/skip2_relu") / "weights.hdf5", tmp_path)
    shutil.copy(golden(f"{INFERENCE}/vocab.txt"), tmp_path)
    if separate:
        shutil.copy(source / "token_embeddings.hdf5", tmp_path)
    else:
        with h5py.File(source / "token_embeddings.hdf5") as table, h5py.File(tmp_path / "weights.hdf5", "a") as file:
            file["embedding"] = table["embedding"][...]
    model = load(tmp_path)
    assert model.config.characters is None
    check_batches(model, source, json.loads((source / "sentences.json").read_text()))


def token_input(folder: Path, words: list[str] | None = None) -> Path:
    """What bilm-tf's users have after ``dump_token_embeddings``: their options unchanged, and the table beside them."""
    source = golden(f"{INFERENCE}/word_input")
    shutil.copy(source / "options.json", folder)
    shutil.copy(golden(f"{INFERENCE}/skip2_relu") / "weights.hdf5", folder)
    lines = golden(f"{INFERENCE}/vocab.txt").read_text(encoding="utf-8").splitlines()
    kept = [number for number, line in enumerate(lines) if words is None or line in words]
    (folder / "vocab.txt").write_text("".join(f"{lines[number]}\n" for number in kept), encoding="utf-8")
    with h5py.File(source / "token_embeddings.hdf5") as table, h5py.File(folder / "embeddings.hdf5", "w") as file:
        file["embedding"] = table["embedding"][...][kept]
    return source


@pytest.mark.parametrize("given", ["", "embeddings.hdf5"], ids=["folder", "table"])
def test_a_table_of_word_vectors_beside_unchanged_options_is_read(tmp_path: Path, given: str) -> None:
    source = token_input(tmp_path)
    model = load(tmp_path / given if given else tmp_path)
    assert model.config.characters is None and "word vectors of embeddings.hdf5" in model.format
    check_batches(model, source, json.loads((source / "sentences.json").read_text()))


@pytest.mark.parametrize("given", ["weights.hdf5", "options.json"])
def test_who_asks_for_the_weights_gets_the_model_of_characters(tmp_path: Path, given: str) -> None:
    token_input(tmp_path)
    assert load(tmp_path / given).config.words is None


def test_a_table_without_a_vocabulary_is_named_and_not_used(tmp_path: Path) -> None:
    token_input(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    model = load(tmp_path)
    assert model.config.words is None and model.format.endswith("embeddings.hdf5 without a vocab.txt is not used")
    with pytest.raises(FormatError, match="the model looks words up, but has no vocabulary"):
        load(tmp_path / "embeddings.hdf5")


def test_without_a_row_for_unknown_words_the_word_is_refused_not_the_file(tmp_path: Path) -> None:
    token_input(tmp_path, ["<S>", "</S>", "the", "cat"])
    model = load(tmp_path)
    assert model.indexer.row("cat") == [4]
    with pytest.raises(InputError, match="the token 'dog' is not in the model's vocabulary, which has no <UNK>"):
        model.indexer.row("dog")
    save_native(model, tmp_path / "native")
    assert load(tmp_path / "native").fingerprint() == model.fingerprint()


def test_a_sentence_cannot_begin_without_its_row(tmp_path: Path) -> None:
    token_input(tmp_path, ["<S>", "the", "cat"])
    with pytest.raises(FormatError, match="the vocabulary has no line </S>"):
        load(tmp_path)


def test_the_dump_of_bilm_tf() -> None:
    """One line after the other, the state carried from line to line."""
    folder = golden(f"{INFERENCE}/dump")
    reader = Carrying(load(golden(f"{INFERENCE}/skip2_relu")))
    with h5py.File(folder / "bilm_embeddings.hdf5") as file:
        for number, line in enumerate((folder / "dataset.txt").read_text().splitlines()):
            assert_same_as_golden(reader.layers([line.split()])[0], file[str(number)], "bilm-tf/dump")


def test_the_other_names_of_a_one_layer_model(tmp_path: Path) -> None:
    prefix = "bilm-tf-generated/training/train_clip10_word_shared"
    for file, name in (("options.json", "options.json"), ("weights.hdf5", "weights.hdf5"), ("vocab.txt", "vocab.txt")):
        shutil.copy(golden(f"{prefix}_{file}"), tmp_path / name)
    model = load(tmp_path)
    assert (model.config.layers, model.config.bidirectional, model.config.skip_connections) == (1, True, False)
    with h5py.File(tmp_path / "weights.hdf5") as file:
        np.testing.assert_array_equal(model.tensors["token_encoder.words.weight"][1:], file["embedding"])
        kernel = file["RNN_1/RNN/LSTMCell/W_0"][...]  # [2D, 4H], gates i j f o
    i, j, f, o = np.split(kernel, 4, axis=1)
    ours = np.concatenate([model.tensors[f"directions.1.cells.0.{part}_weight"] for part in ("input", "state")])
    np.testing.assert_array_equal(ours, np.concatenate([i, f, o, j], axis=1))


def test_a_forward_only_model_keeps_its_direction(tmp_path: Path) -> None:
    """No original output exists for one; its forward half must be that of the model it was taken from."""
    both = load(golden(f"{INFERENCE}/skip2_relu"))
    forward = small_model(
        BiLMConfig(**{**{f: getattr(both.config, f) for f in both.config.__slots__}, "bidirectional": False})
    )
    tensors = {name: both.tensors[name] for name in forward.tensors}
    save_bilm_tf(StoredModel(forward.config, tensors, both.indexer), tmp_path / "saved")
    with h5py.File(tmp_path / "saved" / "weights.hdf5") as file:
        assert "rnn/MultiRNNCell/Cell1/LSTMCell/projection/kernel" in file
    again = load(tmp_path / "saved")
    sentence = [["the", "cat"]]
    half = Carrying(both).layers(sentence)[0][:, :, : both.config.projection]
    np.testing.assert_array_equal(Carrying(again).layers(sentence)[0], half)


def test_a_table_with_the_row_of_padding(tmp_path: Path) -> None:
    """An inference graph's table has 262 rows, a weight file's 261; both are the same model."""
    folder = golden(f"{INFERENCE}/skip2_relu")
    shutil.copytree(folder, tmp_path / "padded")
    with h5py.File(tmp_path / "padded" / "weights.hdf5", "a") as file:
        table = file["char_embed"][...]
        del file["char_embed"]
        file["char_embed"] = np.concatenate([np.zeros_like(table[:1]), table])
    assert load(tmp_path / "padded").fingerprint() == load(folder).fingerprint()


@pytest.mark.parametrize("count", [261, 262, 0])
def test_n_characters_and_unknown_keys_do_not_matter(tmp_path: Path, count: int) -> None:
    folder = golden(f"{INFERENCE}/skip2_relu")
    shutil.copytree(folder, tmp_path / "model")
    options = json.loads((folder / "options.json").read_text())
    options["char_cnn"] |= {"n_characters": count, "projection_after_highway": True}
    options["reverse"] = None
    (tmp_path / "model" / "options.json").write_text(json.dumps(options))
    assert load(tmp_path / "model").fingerprint() == load(folder).fingerprint()


@given(configs(), st.booleans())
@settings(max_examples=25)
def test_native_to_bilm_tf_to_native_is_bit_identical(
    tmp_path_factory: pytest.TempPathFactory, config: BiLMConfig, softmax: bool
) -> None:
    folder = tmp_path_factory.mktemp("round")
    model = small_model(config, softmax=softmax)
    save_native(model, folder / "first")
    save_bilm_tf(load_native(folder / "first"), folder / "bilm-tf")
    save_native(load(folder / "bilm-tf"), folder / "second")
    first, second = (folder / name / "model.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert load_native(folder / "second").config == model.config
    assert load_native(folder / "second").indexer == model.indexer


def test_a_saved_model_reads_like_the_one_that_was_loaded(tmp_path: Path) -> None:
    folder = golden(f"{INFERENCE}/skip2_relu")
    save_bilm_tf(load(folder), tmp_path / "again")
    with h5py.File(folder / "weights.hdf5") as one, h5py.File(tmp_path / "again" / "weights.hdf5") as other:
        names: list[str] = []
        one.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            np.testing.assert_array_equal(one[name], other[name])
    first, again = (json.loads((f / "options.json").read_text()) for f in (folder, tmp_path / "again"))
    assert {**first, "bidirectional": True} == again


@pytest.mark.parametrize("save", [save_bilm_tf, save_allennlp])
def test_a_model_that_spells_every_token_can_be_written(
    tmp_path: Path, save: Callable[[StoredModel, Path], None]
) -> None:
    """As polyseme pretrain makes them; only a token that is written <S> or </S> is read otherwise there."""
    model = replace(
        small_model(), indexer=Indexer(ByteScheme()), vocabulary=Vocabulary(("<S>", "</S>", "<UNK>", "the"))
    )
    save(model, tmp_path / "saved")
    sentence = [["the", "S>", "cat"]]
    np.testing.assert_array_equal(
        Carrying(load(tmp_path / "saved")).layers(sentence)[0], Carrying(model).layers(sentence)[0]
    )


def test_special_tokens_of_another_kind_are_refused(tmp_path: Path) -> None:
    model = replace(small_model(), indexer=Indexer(ByteScheme(specials={"[CLS]": 256})))
    with pytest.raises(FormatError, match="special tokens that do not follow from its vocabulary"):
        save_bilm_tf(model, tmp_path / "x")
    with pytest.raises(FormatError, match="special tokens are not exactly <S> and </S>"):
        save_allennlp(model, tmp_path / "x")


def test_what_bilm_tf_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="reads Unicode characters instead of bytes"):
        save_bilm_tf(load(golden("manylangs/model_char_only")), tmp_path / "x")
    with pytest.raises(FormatError, match="reads words and characters together"):
        save_bilm_tf(load(golden("manylangs/model.zip")), tmp_path / "x")
    assert not (tmp_path / "x").exists()
