"""Files that are missing something, hold nonsense or want to do harm: each is refused in one sentence."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import golden
from helpers.refusals import refused
from polyseme.errors import FormatError
from polyseme.formats.detect import load
from polyseme.formats.json_file import read_json

SOURCE = "bilm-tf-generated/inference/skip2_relu"
KERNEL = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a good model, to be spoilt."""
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(golden(SOURCE) / name, tmp_path)
    load(tmp_path)
    return tmp_path


def replace_array(file: h5py.File, name: str, values: Any) -> None:
    del file[name]
    if values is not None:
        file[name] = values


def _move(file: h5py.File, name: str, other: str) -> None:
    file.move(name, other)


Spoil = Callable[[h5py.File], object]
ARRAYS: list[tuple[str, Spoil, str]] = [
    ("missing", lambda f: replace_array(f, KERNEL, None), f"the array '{KERNEL}' is missing; the nearest name"),
    ("missing table", lambda f: replace_array(f, "char_embed", None), "the array 'char_embed' is missing"),
    ("renamed", lambda f: _move(f, "CNN_proj/W_proj", "CNN_proj/W_prj"), "nearest name in it is 'CNN_proj/W_prj'"),
    ("no arrays", lambda f: [f.pop(name) for name in list(f)], "it holds no arrays at all"),
    ("wrong shape", lambda f: replace_array(f, KERNEL, np.zeros((16, 60))), r"has shape \[16, 60\] where \[16, 64\]"),
    ("a scalar", lambda f: replace_array(f, "char_embed", 1.0), r"has shape \[\] where \[261, 4\]"),
    ("too many characters", lambda f: replace_array(f, "char_embed", np.zeros((300, 4))), r"where \[261, 4\]"),
    ("NaN", lambda f: f[KERNEL].__setitem__((0, 0), np.nan), "1 values of 1024 that are not finite"),
    ("infinity", lambda f: f["CNN/b_cnn_0"].__setitem__(0, np.inf), "'CNN/b_cnn_0' has 1 values of 4"),
    ("whole numbers", lambda f: replace_array(f, "CNN/b_cnn_0", np.zeros(4, int)), "values of type int64"),
    ("strings", lambda f: replace_array(f, "CNN/b_cnn_0", [b"a", b"b", b"c", b"d"]), "where floating-point numbers"),
]


@pytest.mark.parametrize(("spoil", "reason"), [c[1:] for c in ARRAYS], ids=[c[0] for c in ARRAYS])
def test_arrays_that_do_not_fit(model: Path, spoil: Spoil, reason: str) -> None:
    with h5py.File(model / "weights.hdf5", "a") as file:
        spoil(file)
    with refused(reason):
        load(model)


def test_float64_and_float16_arrays_are_numbers_too(model: Path) -> None:
    expected = load(model).tensors["token_encoder.projection.weight"]
    for dtype in (np.float64, np.float16):
        with h5py.File(model / "weights.hdf5", "a") as file:
            replace_array(file, "CNN_proj/W_proj", file["CNN_proj/W_proj"][...].astype(dtype))
        found = load(model).tensors["token_encoder.projection.weight"]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("share", [0, 4, 100, 0.5, 0.95])
def test_truncated_hdf5(model: Path, share: float) -> None:
    whole = (model / "weights.hdf5").read_bytes()
    kept = int(share) if share >= 1 or share == 0 else int(share * len(whole))
    (model / "weights.hdf5").write_bytes(whole[:kept])
    with refused(r"weights\.hdf5 cannot be read as HDF5: it is (no HDF5 file|truncated|damaged)"):
        load(model)


@pytest.mark.parametrize("content", [b"PK\x03\x04 a zip", b"<html>404 Not Found</html>", b"version https://git-lfs"])
def test_hdf5_that_is_not_hdf5(model: Path, content: bytes) -> None:
    (model / "weights.hdf5").write_bytes(content)
    with refused(r"weights\.hdf5 cannot be read as HDF5: it is no HDF5 file"):
        load(model)


@given(st.integers(0, 60_000), st.binary(min_size=1, max_size=200))
@settings(max_examples=40, derandomize=True)  # libhdf5 is not ours: the same files every time
def test_damaged_hdf5_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, where: int, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copy(golden(SOURCE) / "options.json", folder)
    data = bytearray((golden(SOURCE) / "weights.hdf5").read_bytes())
    data[where : where + len(noise)] = noise
    (folder / "weights.hdf5").write_bytes(data[: (golden(SOURCE) / "weights.hdf5").stat().st_size])
    try:
        load(folder)
    except FormatError as error:
        assert "\n" not in str(error)


def test_an_array_that_promises_more_than_the_file_holds(model: Path) -> None:
    options = json.loads((model / "options.json").read_text())
    options["lstm"] |= {"dim": 500_000, "projection_dim": 100_000}
    (model / "options.json").write_text(json.dumps(options))
    with h5py.File(model / "weights.hdf5", "w") as file:
        for name, shape in _huge_shapes().items():
            file.create_dataset(name, shape=shape, dtype="f4", chunks=True)
    assert (model / "weights.hdf5").stat().st_size < 1 << 20
    with refused("promises .* bytes of weights, which is not plausible"):
        load(model)


def _huge_shapes() -> dict[str, tuple[int, ...]]:
    with h5py.File(golden(SOURCE) / "weights.hdf5") as file:
        shapes: dict[str, tuple[int, ...]] = {}
        file.visititems(lambda n, item: shapes.update({n: item.shape}) if isinstance(item, h5py.Dataset) else None)
    sizes = {16: 200_000, 64: 2_000_000, 8: 100_000}
    for name, shape in shapes.items():
        if name.startswith("RNN"):
            last = name.rsplit("/", 1)[1]
            shapes[name] = (500_000, 100_000) if last == "W_P_0" else tuple(sizes[size] for size in shape)
    return shapes | {"CNN_proj/W_proj": (20, 100_000), "CNN_proj/b_proj": (100_000,)}


def test_values_in_another_file_are_not_read(model: Path) -> None:
    (model / "secret.bin").write_bytes(b"\0" * 16)
    with h5py.File(model / "weights.hdf5", "a") as file:
        del file["CNN/b_cnn_0"]
        external = [(str(model / "secret.bin"), 0, 16)]
        file.create_dataset("CNN/b_cnn_0", shape=(4,), dtype="f4", external=external)
    with refused("keeps its values in another file, which is not read"):
        load(model)


def test_links_to_another_file_are_not_followed(model: Path) -> None:
    with h5py.File(model / "weights.hdf5", "a") as file:
        del file["char_embed"]
        file["char_embed"] = h5py.ExternalLink(str(golden(SOURCE) / "weights.hdf5"), "char_embed")
    with refused("the array 'char_embed' is missing"):
        load(model)


OPTIONS: list[tuple[str, Any, str]] = [
    ("lstm", None, "no setting 'lstm.projection_dim'"),
    ("lstm", 7, "7 was found where settings with 'projection_dim' were expected"),
    ("lstm.dim", None, "no setting 'lstm.dim', which should be a whole number"),
    ("lstm.dim", "4096", "'lstm.dim' is '4096', where a whole number was expected"),
    ("lstm.dim", 16.5, "a whole number was expected"),
    ("lstm.dim", True, "a whole number was expected"),
    ("lstm.dim", 10**9, "cell = 1,000,000,000, but no model has more than"),
    ("lstm.dim", -3, "cell is -3, but should be a whole number of at least 1"),
    ("lstm.dim", 4, "projection 8 is larger than cell 4"),
    ("lstm.n_layers", 10**9, "layers = 1,000,000,000"),
    ("lstm.n_layers", 3, "Cell2/LSTMCell/W_0' is missing"),
    ("lstm.cell_clip", "3", "a number was expected"),
    ("lstm.cell_clip", -1, "a clip is a positive number"),
    ("lstm.use_skip_connections", "yes", "true or false was expected"),
    ("char_cnn.activation", "gelu", "the activation is 'gelu', but should be 'relu' or 'tanh'"),
    ("char_cnn.filters", [[1, 4], [2]], "a list of number pairs was expected"),
    ("char_cnn.filters", [], "filters is empty"),
    ("char_cnn.filters", [[60, 4]], "a width is 1 to 50 characters"),
    ("char_cnn.filters", [[1, 4]], "where .* was expected"),
    ("char_cnn.embedding.dim", 10**9, "character dim = 1,000,000,000"),
    ("char_cnn.max_characters_per_token", 2, "max_characters is 2"),
    ("char_cnn.n_highway", 10**9, "highways = 1,000,000,000"),
    ("char_cnn", None, "the array 'embedding' is missing"),
]


@pytest.mark.parametrize(("key", "value", "reason"), OPTIONS, ids=[f"{key}={value}" for key, value, _ in OPTIONS])
def test_options_that_are_nonsense(model: Path, key: str, value: Any, reason: str) -> None:
    options = json.loads((model / "options.json").read_text())
    *path, last = key.split(".")
    place = options
    for part in path:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    (model / "options.json").write_text(json.dumps(options))
    with refused(reason):
        load(model)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not valid JSON: Expecting value at line 1, column 1"),
        (b'{"lstm": {"dim": 16,', "not valid JSON"),
        (b"[1, 2]", "holds a list, where an object of settings was expected"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"\xff\xfe{\0}\0", "is not UTF-8"),
        (b'{"a":' * 100_000, "nested too deeply|not valid JSON"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_json_that_is_not_json(model: Path, content: bytes, reason: str) -> None:
    (model / "options.json").write_bytes(content)
    with refused(reason):
        load(model)


def test_json_that_is_too_large_for_settings(tmp_path: Path) -> None:
    with (tmp_path / "options.json").open("wb") as file:
        file.truncate(1 << 30)
    with refused("too many for a file of settings"):
        read_json(tmp_path / "options.json")


def test_a_vocabulary_that_is_not_text(model: Path) -> None:
    (model / "vocab.txt").write_bytes(b"<S>\n</S>\n\xff\xfa\n")
    with refused(r"vocab\.txt, line 3 is not UTF-8"):
        load(model)
    (model / "vocab.txt.gz").write_bytes(b"\x1f\x8b\x08 this is not gzip")
    with refused(r"vocab\.txt\.gz"):
        load(model)


def test_a_word_model_without_its_vocabulary(model: Path) -> None:
    options = json.loads((model / "options.json").read_text())
    del options["char_cnn"]
    (model / "options.json").write_text(json.dumps(options))
    with h5py.File(model / "weights.hdf5", "a") as file:
        file["embedding"] = np.zeros((5, 8), np.float32)
    with refused(r"looks words up, but has no vocabulary; put its vocab\.txt next to it"):
        load(model)
    (model / "vocab.txt").write_text("<S>\n</S>\n<UNK>\n")
    with refused("the vocabulary has 3 lines, but the array 'embedding' has 5 rows"):
        load(model)
    (model / "vocab.txt").write_text("a\nb\nc\nd\ne\n")
    with refused("the vocabulary has no line <S>"):
        load(model)


class Harm:
    """Unpickled by a careless program, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def harmful(path: Path, proof: Path, *, legacy: bool) -> None:
    torch.save({"a": Harm(proof)}, path, _use_new_zipfile_serialization=not legacy)


@pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "zip"])
@pytest.mark.parametrize("kind", ["state dict", "archive", "manylangs"])
def test_a_pickle_that_would_run_code_is_not_run(tmp_path: Path, kind: str, legacy: bool) -> None:
    proof = tmp_path / "harm was done"
    if kind == "manylangs":
        source = shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
        harmful(source / "encoder.pkl", proof, legacy=legacy)
    else:
        source = tmp_path / "weights.th"
        harmful(source, proof, legacy=legacy)
        if kind == "archive":
            with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
                archive.add(source, "weights.th")
            source = tmp_path / "model.tar.gz"
    with refused(
        r"is a pickle that holds more than tensors \((posix|nt).mkdir\) and could run code, so it was not opened"
    ):
        load(source)
    assert not proof.exists()
    if kind == "state dict":  # the test would see the harm, had it been done
        torch.load(source, weights_only=False)
        assert proof.exists()


def test_a_plain_pickle_is_not_run(tmp_path: Path) -> None:
    source = shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
    (source / "encoder.pkl").write_bytes(pickle.dumps(Harm(tmp_path / "harm")))
    with refused(r"encoder\.pkl"):
        load(source)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 0.999])
@pytest.mark.parametrize("name", ["encoder.pkl", "token_embedder.pkl"])
def test_truncated_state_dicts(tmp_path: Path, name: str, share: float) -> None:
    source = shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
    whole = (source / name).read_bytes()
    (source / name).write_bytes(whole[: int(share * len(whole))])
    with refused(f"{name} is truncated or was not written by torch"):
        load(source)


def test_a_state_dict_that_is_none(tmp_path: Path) -> None:
    source = shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
    for value in (torch.zeros(3), [1, 2], {"a": 1}, {}):
        torch.save(value, source / "encoder.pkl")
        with refused(r"encoder\.pkl holds a \w+ instead of named tensors"):
            load(source)
    (source / "encoder.pkl").unlink()
    with refused(r"the file encoder\.pkl is missing"):
        load(source)


def test_a_small_storage_behind_a_large_tensor(tmp_path: Path) -> None:
    source = shutil.copytree(golden("manylangs/model_word_only"), tmp_path / "model")
    path = next(source.glob("cnn*.json"))
    architecture = json.loads(path.read_text())
    architecture["encoder"] |= {"dim": 200_000, "projection_dim": 100_000}
    path.write_text(json.dumps(architecture))
    one = torch.zeros(1)
    shapes = {"input_linearity.weight": (800_000, 100_000), "state_linearity.weight": (800_000, 100_000)}
    shapes |= {"state_linearity.bias": (800_000,), "state_projection.weight": (100_000, 200_000)}
    tensors = {}
    for direction in ("forward", "backward"):
        for layer in (0, 1):
            for name, shape in shapes.items():
                tensors[f"{direction}_layer_{layer}.{name}"] = one.expand(*shape)
    torch.save(tensors, source / "encoder.pkl")
    embedder = torch.load(source / "token_embedder.pkl", weights_only=True)
    embedder |= {"projection.weight": one.expand(100_000, 5), "projection.bias": one.expand(100_000)}
    torch.save(embedder, source / "token_embedder.pkl")
    with refused("promises .* bytes of weights, which is not plausible"):
        load(source)


def test_an_archive_whose_options_do_not_fit(tmp_path: Path) -> None:
    with tarfile.open(golden("allennlp/archives/fta_projection.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    options = next((tmp_path / "fta").glob("*options_file"))
    values = json.loads(options.read_text())
    values["lstm"]["n_layers"] = 3
    options.write_text(json.dumps(values))
    with refused("forward_layer_2.input_linearity.weight' is missing"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with refused(r"config\.json is not valid JSON"):
        load(tmp_path)


def test_two_elmos_in_one_file(tmp_path: Path) -> None:
    whole = torch.load(golden("allennlp/token_embedder_projection.th"), weights_only=True)
    twice = {f"{part}.{name}": x.clone() for part in ("a", "b") for name, x in whole.items()}
    torch.save(twice, tmp_path / "twice.th")
    assert load(tmp_path / "twice.th").config.layers == 2
    twice["b._elmo._elmo_lstm._token_embedder._char_embedding_weights"] += 1
    torch.save(twice, tmp_path / "twice.th")
    with refused("several ELMo parts"):
        load(tmp_path / "twice.th")
