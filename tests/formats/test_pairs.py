"""Which files belong together: NLPL's zips and folders, SeqVec's layout, AllenNLP's names; and their numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from helpers.golden import CONTAINERS, Carrying, assert_same_as_golden, bilm_tf_layers, files, golden
from polyseme.errors import FormatError
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.pairs import find_pair

SKIP = "bilm-tf-generated/inference/skip2_relu"
SENTENCES = json.loads(golden("nlpl/sentences.json").read_text())


def simple_elmo(model: StoredModel, *, warm_up: bool, size: int) -> np.ndarray:
    """[S, L+1, N, W]: chunks of ``size`` sentences, each as long as its longest; the first one read twice if warm."""
    reader = Carrying(model)
    if warm_up:
        reader.read(SENTENCES[:size])
    longest = max(map(len, SENTENCES))
    result = np.zeros((len(SENTENCES), model.config.layers + 1, longest, model.config.width))
    for start in range(0, len(SENTENCES), size):
        chunk = SENTENCES[start : start + size]
        ids = torch.from_numpy(model.indexer.batch(chunk))
        layers = bilm_tf_layers(reader, reader.read(chunk), ids)
        result[start : start + len(chunk), :, : layers.shape[2]] = layers
    return result


@pytest.mark.parametrize("warm_up", [False, True])
@pytest.mark.parametrize("size", [2, 32])
@pytest.mark.parametrize("name", files(*(f"nlpl/{name}_expected.npz" for name in CONTAINERS)))
def test_the_vectors_of_simple_elmo(name: str, size: int, warm_up: bool) -> None:
    container = CONTAINERS[name.removeprefix("nlpl/").removesuffix("_expected.npz")]
    expected = np.load(golden(name))
    vectors = simple_elmo(load(golden(f"nlpl/{container}")), warm_up=warm_up, size=size)
    ending = f"warmup{int(warm_up)}_bs{size}"
    assert_same_as_golden(vectors, expected[f"vectors_all_{ending}"], "nlpl")
    assert_same_as_golden(vectors.mean(axis=1), expected[f"vectors_average_{ending}"], "nlpl")
    assert_same_as_golden(vectors[:, -1], expected[f"vectors_top_{ending}"], "nlpl")


@pytest.mark.parametrize("warm_up", [False, True])
@pytest.mark.parametrize("name", files(*(f"nlpl/{name}_expected.npz" for name in CONTAINERS)))
def test_the_sentence_averages_of_simple_elmo(name: str, warm_up: bool) -> None:
    """With its quirks: padding counts, and the axes of all layers are reshaped where they should be exchanged."""
    container = CONTAINERS[name.removeprefix("nlpl/").removesuffix("_expected.npz")]
    expected = np.load(golden(name))
    vectors = simple_elmo(load(golden(f"nlpl/{container}")), warm_up=warm_up, size=32)
    ending = f"warmup{int(warm_up)}_bs32"
    for kind, values in (("average", vectors.mean(axis=1)), ("top", vectors[:, -1])):
        means = values.mean(axis=1)
        unit = means / np.linalg.norm(means, axis=1, keepdims=True)
        assert_same_as_golden(unit, expected[f"average_{kind}_{ending}"], "nlpl averages")
    sentences, layers, longest, width = vectors.shape
    means = vectors.reshape(sentences, longest, layers, width).mean(axis=1)
    unit = means / np.linalg.norm(means, axis=(1, 2), keepdims=True)
    assert_same_as_golden(unit, expected[f"average_all_{ending}"], "nlpl averages")


def proteins() -> dict[str, list[str]]:
    """Id → residues, shortest first."""
    found: dict[str, list[str]] = {}
    for line in golden("seqvec/seqs.fasta").read_text().splitlines():
        if line.startswith(">"):
            name = line.split("|")[1]
        else:
            found[name] = found.get(name, []) + list(line.strip().upper())
    return dict(sorted(found.items(), key=lambda item: len(item[1])))


def seqvec(size: int) -> dict[str, np.ndarray]:
    """Id → [L+1, N, W], in batches that are closed by SeqVec's rule."""
    reader, result, batch = Carrying(load(golden("seqvec/seqvec_layout.zip"))), {}, {}
    everything = proteins()
    for name, residues in everything.items():
        batch[name] = residues
        full = sum(map(len, batch.values())) > size or len(residues) > size / 2
        if full or name == list(everything)[-1]:
            result.update(zip(batch, reader.layers(list(batch.values())), strict=True))
            batch = {}
    return result


def test_the_dumps_of_seqvec() -> None:
    together, apart = seqvec(15000), seqvec(5)
    sums, tokens = np.load(golden("seqvec/residue_sum.npz")), np.load(golden("seqvec/protein_cnn.npz"))
    assert list(sums) == list(together)
    ids = json.loads(golden("seqvec/protein_sum.json").read_text())
    means = np.load(golden("seqvec/protein_sum.npy"))
    with h5py.File(golden("seqvec/residue_all.h5")) as every, h5py.File(golden("seqvec/residue_lstm1_bs5.h5")) as one:
        for name, layers in together.items():
            assert_same_as_golden(layers.sum(axis=0), sums[name], "seqvec")
            assert_same_as_golden(np.concatenate(list(layers), axis=1), every[name], "seqvec")
            assert_same_as_golden(layers.sum(axis=0).mean(axis=0), means[ids.index(name)], "seqvec")
            assert_same_as_golden(layers[0].mean(axis=0), tokens[name], "seqvec")
            assert_same_as_golden(apart[name][1], one[name], "seqvec")


@pytest.mark.parametrize(
    "name", files("nlpl/with_vocab.zip", "nlpl/without_vocab.zip", "nlpl/folder_other_name", "seqvec/seqvec_layout.zip")
)
def test_every_container_holds_the_same_model(name: str) -> None:
    model = load(golden(name))
    assert model.fingerprint() == load(golden(SKIP)).fingerprint()
    assert (model.vocabulary is not None) == (name in ("nlpl/with_vocab.zip", "nlpl/folder_other_name"))


def released(folder: Path) -> None:
    """Two pairs in one folder, with the names of AllenNLP's releases."""
    for name in ("small", "large"):
        shutil.copy(golden(SKIP) / "options.json", folder / f"elmo_{name}_options.json")
        shutil.copy(golden(SKIP) / "weights.hdf5", folder / f"elmo_{name}_weights.hdf5")


def test_a_file_of_a_pair_finds_the_other(tmp_path: Path) -> None:
    released(tmp_path)
    for given in ("elmo_large_weights.hdf5", "elmo_large_options.json"):
        pair = find_pair(tmp_path / given)
        assert (pair.options.name, pair.weights.name) == ("elmo_large_options.json", "elmo_large_weights.hdf5")
    assert load(tmp_path / "elmo_small_weights.hdf5").fingerprint() == load(golden(SKIP)).fingerprint()


def test_several_pairs_in_a_folder_are_a_question(tmp_path: Path) -> None:
    released(tmp_path)
    with pytest.raises(
        FormatError, match=r"2 were found \(elmo_large_weights.hdf5, elmo_small_weights.hdf5\); give its"
    ):
        load(tmp_path)
    options = json.loads((tmp_path / "elmo_small_options.json").read_text())
    (tmp_path / "elmo_small_options.json").write_text(json.dumps({**options, "learning_rate": 0.1}))
    with pytest.raises(FormatError, match="several options"):
        load(tmp_path)


def test_the_pubmed_pair_beside_another_release(tmp_path: Path) -> None:
    """Its weights are called …_weights_PubMed_only.hdf5, and its options as those of the original."""
    released(tmp_path)
    pubmed = tmp_path / "elmo_large_weights_PubMed_only.hdf5"
    shutil.copy(golden(SKIP) / "weights.hdf5", pubmed)
    assert find_pair(pubmed).options.name == "elmo_large_options.json"
    shutil.copy(golden(SKIP) / "weights.hdf5", tmp_path / "mine.hdf5")
    assert find_pair(tmp_path / "mine.hdf5").options.name == "elmo_large_options.json", "all options say the same"


def test_options_and_weights_in_two_folders(tmp_path: Path) -> None:
    for part, name in (("here", "options.json"), ("there", "weights.hdf5")):
        (tmp_path / part).mkdir()
        shutil.copy(golden(SKIP) / name, tmp_path / part)
    model = load(tmp_path / "there" / "weights.hdf5", options=tmp_path / "here" / "options.json")
    assert model.fingerprint() == load(golden(SKIP)).fingerprint()
    with pytest.raises(FormatError, match="there is no file"):
        load(tmp_path / "there" / "weights.hdf5", options=tmp_path / "options.json")


def test_weights_without_options(tmp_path: Path) -> None:
    shutil.copy(golden(SKIP) / "weights.hdf5", tmp_path)
    with pytest.raises(FormatError, match=r"no options\.json next to the weights"):
        load(tmp_path / "weights.hdf5")


def test_the_weights_among_files_of_vectors_are_found(tmp_path: Path) -> None:
    shutil.copy(golden(SKIP) / "options.json", tmp_path)
    shutil.copy(golden(SKIP) / "weights.hdf5", tmp_path / "zebra.hdf5")
    shutil.copy(golden("allennlp/elmo_command") / "all.hdf5", tmp_path / "aardvark.hdf5")
    assert find_pair(tmp_path).weights.name == "zebra.hdf5"
