"""A checkpoint of bilm-tf, read without TensorFlow: every variable, the softmax; and a TF-Hub module's names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers.damage import flip_bit
from helpers.golden import assert_same_as_golden, files, golden
from helpers.paths import FIXTURES, needs
from helpers.tensor_bundles import write_bundle
from polyseme.errors import FormatError
from polyseme.formats.detect import load
from polyseme.formats.names import BILM_TF
from polyseme.formats.renaming import file_arrays
from polyseme.formats.tensor_bundle import FOOTER, open_bundle

CHECKPOINT = "bilm-tf-generated/checkpoint"
TRACE = FIXTURES / "bilm-tf-generated/training/train_clip10.npz"


@pytest.mark.shared
@needs(TRACE)
def test_every_variable_is_bit_exact() -> None:
    final = np.load(TRACE)
    with open_bundle(golden(CHECKPOINT) / "model.ckpt-30") as file:
        assert len(file.arrays) == 56
        assert file.arrays["global_step"].read().item() == 30
        names = [name for name in final if name.startswith(("final/", "accum/"))]
        for name in names:
            kind, _, variable = name.partition("/")
            tf_name = variable.replace("/RNN/MultiRNNCell/Cell", "/rnn/multi_rnn_cell/cell_")
            for hdf5, tf in (("LSTMCell/W_0", "lstm_cell/kernel"), ("LSTMCell/B", "lstm_cell/bias")):
                tf_name = tf_name.replace(hdf5, tf)
            tf_name = tf_name.replace("LSTMCell/W_P_0", "lstm_cell/projection/kernel")
            stored = file.arrays[f"lm/{tf_name}" + ("/Adagrad" if kind == "accum" else "")].read()
            np.testing.assert_array_equal(stored, final[name])
    assert len(names) == 54


@pytest.mark.parametrize("source", ["", "model.ckpt-30", "model.ckpt-30.index"], ids=["folder", "prefix", "index"])
def test_a_checkpoint_is_its_dumped_model_with_a_softmax(source: str) -> None:
    model = load(golden(CHECKPOINT) / source if source else golden(CHECKPOINT))
    assert model.format == "TensorFlow checkpoint"
    assert model.vocabulary is not None and model.softmax is not None
    assert model.softmax.weight.shape == (len(model.vocabulary), model.config.projection)
    assert model.config.characters is not None and model.config.characters.max_characters == 10


@pytest.mark.parametrize("name", files("bilm-tf-generated/training/train_clip10_weights.hdf5"))
def test_a_checkpoint_and_its_hdf5_dump_are_the_same_model(name: str, tmp_path: Path) -> None:
    shutil.copy(golden(name), tmp_path / "weights.hdf5")
    for file in ("options.json", "vocab.txt"):
        shutil.copy(golden(CHECKPOINT) / file, tmp_path)
    assert load(tmp_path).fingerprint() == load(golden(CHECKPOINT)).fingerprint()


def test_the_newest_checkpoint_is_the_one_that_the_file_names(tmp_path: Path) -> None:
    for path in golden(CHECKPOINT).iterdir():
        shutil.copy(path, tmp_path / path.name)
        if path.name.startswith("model.ckpt-30"):
            shutil.copy(path, tmp_path / path.name.replace("ckpt-30", "ckpt-4"))
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/data/elsewhere/model.ckpt-30"\n')
    (tmp_path / "model.ckpt-4.data-00000-of-00001").write_bytes(b"")
    load(tmp_path)
    (tmp_path / "checkpoint").unlink()
    load(tmp_path)
    with pytest.raises(FormatError, match="truncated"):
        load(tmp_path / "model.ckpt-4")


@pytest.mark.parametrize("scope", ["bilm/", "module/bilm/"])
@pytest.mark.parametrize(
    "cell", ["RNN_{d}/RNN/MultiRNNCell/Cell{l}/rnn/lstm_cell", "RNN_{d}/rnn/multi_rnn_cell/cell_{l}/lstm_cell"]
)
def test_a_module_without_options_is_read_off_its_shapes(tmp_path: Path, scope: str, cell: str) -> None:
    """TF-Hub's module: another scope, no options, the mix beside it, and a table with the row of padding."""
    source = load(golden("bilm-tf-generated/inference/skip2_relu"))
    arrays = file_arrays(source.tensors, BILM_TF[0].table, source.config)
    names = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}
    variables = {}
    for name, x in arrays.items():
        if name.startswith("RNN_"):
            d, layer, part = name[4], name[name.index("Cell", 20) + 4], name.rsplit("/", 1)[1]
            name = f"{cell.format(d=d, l=layer)}/{names[part]}"
        if name == "char_embed":
            x = np.concatenate([np.zeros_like(x[:1]), x])
        variables[scope + name] = x
    outer = scope.removesuffix("bilm/")
    variables[f"{outer}aggregation/weights"] = np.array([0.5, 0.25, -1], dtype=np.float32)
    variables[f"{outer}aggregation/scaling"] = np.array(2, dtype=np.float32)
    (tmp_path / "variables").mkdir()
    write_bundle(tmp_path / "variables" / "variables", variables)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    model = load(tmp_path)
    assert model.fingerprint() == source.fingerprint()
    assert [(mix.weights, mix.scale) for mix in model.mixes] == [((0.5, 0.25, -1.0), 2.0)]
    assert "activation relu" in model.card["assumed"]


def test_a_shared_table_is_the_softmax(tmp_path: Path) -> None:
    prefix = "bilm-tf-generated/training/train_clip10_word_shared"
    shutil.copy(golden(f"{prefix}_options.json"), tmp_path / "options.json")
    shutil.copy(golden(f"{prefix}_vocab.txt"), tmp_path / "vocab.txt")
    rng = np.random.default_rng(0)
    variables = {"lm/embedding": (50, 8), "lm/softmax/b": (50,)}
    for d in (0, 1):
        cell = f"lm/RNN_{d}/rnn/lstm_cell"
        variables |= {f"{cell}/kernel": (16, 64), f"{cell}/bias": (64,), f"{cell}/projection/kernel": (16, 8)}
    values = {name: rng.normal(size=shape).astype(np.float32) for name, shape in variables.items()}
    write_bundle(tmp_path / "model.ckpt-1", values, shards=2)
    model = load(tmp_path)
    assert model.softmax is not None and model.config.layers == 1
    assert_same_as_golden(model.softmax.weight, values["lm/embedding"], "shared softmax", tolerance=0)


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "model.ckpt-1", {"bert/embeddings/word_embeddings": np.zeros((3, 2), np.float32)})
    with pytest.raises(FormatError, match="not a biLM; it has bert/embeddings/word_embeddings"):
        load(tmp_path)


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    shutil.copytree(golden(CHECKPOINT), tmp_path / "copy")
    index = tmp_path / "copy" / "model.ckpt-30.index"
    whole = index.read_bytes()
    for damaged in (whole[:-1], whole[-48:], b"", whole[:100] + b"\xff" * 40 + whole[140:]):
        index.write_bytes(damaged)
        with pytest.raises(FormatError):
            load(tmp_path / "copy")


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_flipped_bits_of_a_checkpoint_are_noticed(tmp_path: Path, suffix: str) -> None:
    """Twenty of twenty, wherever a block or a variable that is read stands."""
    values = tiny_variables()
    for seed in range(20):
        write_bundle(tmp_path / "model", values)
        path = tmp_path / f"model{suffix}"
        flip_bit(path, seed=seed, before=FOOTER if suffix == ".index" else 0)
        with pytest.raises(FormatError, match="checksum"), open_bundle(tmp_path / "model") as file:
            for name in file.arrays:
                file.read(name)


def tiny_variables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {f"lm/variable_{size}": rng.normal(size=(size, 7)).astype(np.float32) for size in (1, 30, 300)}


def test_a_variable_without_a_checksum_is_read(tmp_path: Path) -> None:
    write_bundle(tmp_path / "model", tiny_variables(), checksums=False)
    with open_bundle(tmp_path / "model") as file:
        np.testing.assert_array_equal(np.asarray(file.read("lm/variable_1")), tiny_variables()["lm/variable_1"])


def test_options_of_another_model_are_refused(tmp_path: Path) -> None:
    shutil.copytree(golden(CHECKPOINT), tmp_path / "copy")
    options = json.loads((tmp_path / "copy" / "options.json").read_text())
    options["lstm"]["dim"] = 17
    (tmp_path / "copy" / "options.json").write_text(json.dumps(options))
    with pytest.raises(FormatError, match=r"has shape \[16, 64\] where \[16, 68\] was expected"):
        load(tmp_path / "copy")
