"""AllenNLP: its biLM, its mixes, its archives; and files that it could read."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from helpers.golden import Carrying, assert_same_as_golden, files, golden
from helpers.small_models import SMALL, small_model
from polyseme.errors import FormatError
from polyseme.formats.allennlp import save_allennlp
from polyseme.formats.detect import load
from polyseme.formats.model import MixWeights, StoredModel
from polyseme.formats.names import ALLENNLP
from polyseme.formats.renaming import file_arrays, read_tensors
from polyseme.formats.torch_file import read_state_dict
from polyseme.nn.bilm import BiLM, BiLMOutput
from polyseme.nn.mix import ScalarMix
from polyseme.text.characters import ByteScheme

MODELS = [f"allennlp/{name}" for name in ("skip2_relu", "layers3_skip", "clip_binding")]
TAGGER = "bilm-tf/allennlp/simple_tagger_with_elmo"


def batches() -> list[list[list[str]]]:
    found: list[list[list[str]]] = json.loads(golden("allennlp/sentences.json").read_text())
    return found


def mixed(output: BiLMOutput, mix: MixWeights, *, keep_boundaries: bool = False) -> torch.Tensor:
    """A scalar mix with boundaries in the layer norm, as AllenNLP does it. [B, N, W]"""
    module = ScalarMix(output.layers.shape[0], layer_norm="batch" if mix.layer_norm else None, fixed=mix.weights)
    with torch.no_grad():
        result = mix.scale * module(output.layers, output.mask)
    return result if keep_boundaries else result[:, 1:-1] * output.mask[:, 2:, None]


@pytest.mark.parametrize("name", files(*MODELS))
def test_five_carried_calls(name: str) -> None:
    model, expected = load(golden(name)), np.load(golden(name) / "expected.npz")
    reader = Carrying(model)
    for i, batch in enumerate(batches()):
        ids = model.indexer.batch(batch)
        np.testing.assert_array_equal(ids[:, 1:-1] * (expected[f"bilm/b{i}/ids"] > 0), expected[f"bilm/b{i}/ids"])
        output = reader.read(batch)
        assert_same_as_golden(output.layers.transpose(0, 1), expected[f"bilm/b{i}/activations"], name)
        np.testing.assert_array_equal(output.mask, expected[f"bilm/b{i}/mask"])
        for kind, state in (("h", reader.state.h), ("c", reader.state.c)):  # [directions, L, B, ·]
            assert_same_as_golden(torch.cat(list(state), dim=2), expected[f"bilm/b{i}/state_{kind}"], name)


VARIANTS = ("default", "two", "layer_norm", "keep_boundaries", "keep_boundaries_layer_norm", "scalar_mix_parameters")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", files(*MODELS))
def test_the_mixes_of_the_elmo_module(name: str, variant: str) -> None:
    expected = np.load(golden(name) / "expected.npz")
    weights = tuple(expected["elmo/mix_weights"].tolist())
    zero = (0.0,) * len(weights)
    normed, kept = "layer_norm" in variant, "keep_boundaries" in variant
    mixes = {
        "default": [MixWeights(zero, 1.0)],
        "two": [MixWeights(weights, 1.7), MixWeights(weights[::-1], 0.4)],
        "scalar_mix_parameters": [MixWeights(weights, 1.0)],
    }.get(variant, [MixWeights(weights, 1.7, normed)])
    family = f"{name} with layer norm" if normed else name
    reader = Carrying(load(golden(name)))
    for call in (0, 1):
        output = reader.read(batches()[call])
        for k, mix in enumerate(mixes):
            found = mixed(output, mix, keep_boundaries=kept)
            assert_same_as_golden(found, expected[f"elmo/{variant}/call{call}/rep{k}"], family)


@pytest.mark.parametrize("name", files(*MODELS))
def test_an_empty_sentence_and_groups_of_sentences(name: str) -> None:
    model, expected = load(golden(name)), np.load(golden(name) / "expected.npz")
    reader = Carrying(model)
    reader.read(batches()[0])
    ids = expected["bilm/emptyrow/ids"]
    assert not ids[-1].any()
    output = reader.read_ids(bounded(model, ids))
    assert_same_as_golden(output.layers.transpose(0, 1), expected["bilm/emptyrow/activations"], name)
    groups = expected["elmo/4d/ids"]
    output = Carrying(model).read_ids(bounded(model, groups.reshape(-1, *groups.shape[2:])))
    found = mixed(output, MixWeights((0.0,) * (model.config.layers + 1), 1.0))
    assert_same_as_golden(found.reshape(expected["elmo/4d/rep0"].shape), expected["elmo/4d/rep0"], name)


def bounded(model: StoredModel, ids: np.ndarray) -> np.ndarray:
    """[B, N, K] ids without boundaries → [B, T, K] with them."""
    result = np.pad(ids.astype(np.int64), ((0, 0), (1, 1), (0, 0)))
    result[:, 0] = model.indexer.begin_row()
    for row, length in zip(result, (ids > 0).any(axis=2).sum(axis=1), strict=True):
        row[length + 1] = model.indexer.end_row()
    return result


@pytest.mark.parametrize("name", files(*MODELS))
def test_a_cached_vocabulary_gives_what_the_characters_give(name: str) -> None:
    """The rows of AllenNLP's cache are token vectors; row 0, its padding, is zero."""
    model, expected = load(golden(name)), np.load(golden(name) / "expected.npz")
    cached = ["@@PADDING@@", "@@UNKNOWN@@", "The", "cat", "sat", "."]
    bilm = BiLM.of(model)
    rows = [model.indexer.begin_row(), model.indexer.end_row(), *(model.indexer.row(word) for word in cached[1:])]
    with torch.no_grad():
        begin, end, *vectors = bilm.token_encoder(torch.tensor(rows))
    assert_same_as_golden(begin, expected["bilm/cached/bos"], name)
    assert_same_as_golden(end, expected["bilm/cached/eos"], name)
    assert_same_as_golden(torch.stack(vectors), expected["bilm/cached/word_embedding"][1:], name)
    sentences = [[cached[word] for word in row if word] for row in expected["bilm/cached/word_ids"].tolist()]
    output = Carrying(model).read(sentences)
    assert_same_as_golden(output.layers.transpose(0, 1), expected["bilm/cached/activations"], name)


@pytest.mark.parametrize("added", [False, True])
def test_character_ids(added: bool) -> None:
    case, expected = (
        json.loads(golden("allennlp/char_ids_words.json").read_text()),
        np.load(golden("allennlp/char_ids.npz")),
    )
    specials = {"<S>": 256, "</S>": 257, **(case["tokens_to_add"] if added else {})}
    scheme = ByteScheme(50, specials)
    found = [scheme.row(word) for word in case["words"]]
    np.testing.assert_array_equal(found, expected["with_added" if added else "plain"])


@pytest.mark.parametrize(
    ("file", "size", "batch"), [("all", 2, None), ("all_forget", 64, None), ("top", 2, -1), ("average", 2, "mean")]
)
def test_the_dumps_of_the_elmo_command(file: str, size: int, batch: Any) -> None:
    folder = golden("allennlp/elmo_command")
    lines = [line.split() for line in (folder / "sentences.txt").read_text().splitlines()]
    reader = Carrying(load(golden("allennlp/skip2_relu")))
    found = [layers for start in range(0, len(lines), size) for layers in reader.layers(lines[start : start + size])]
    with h5py.File(folder / f"{file}.hdf5") as expected:
        for number, layers in enumerate(found):
            values = layers if batch is None else layers.mean(axis=0) if batch == "mean" else layers[batch]
            assert_same_as_golden(values, expected[str(number)], "allennlp/elmo_command")


def test_the_dump_with_sentences_as_keys() -> None:
    folder = golden("allennlp/elmo_command")
    lines = (folder / "sentences_unique.txt").read_text().splitlines()
    found = Carrying(load(golden("allennlp/skip2_relu"))).layers([line.split() for line in lines])
    with h5py.File(folder / "average_sentence_keys.hdf5") as expected:
        for line, layers in zip(lines, found, strict=True):
            assert_same_as_golden(layers.mean(axis=0), expected[line], "allennlp/elmo_command")


def embedded(model: StoredModel, output: BiLMOutput) -> torch.Tensor:
    """What the archive's token embedder gives: its mix, then its projection where it has one."""
    found = mixed(output, model.mixes[0])
    projection = model.output_projection
    if projection is None:
        return found
    return found @ torch.from_numpy(projection.weight).T + torch.from_numpy(projection.bias)


@pytest.mark.parametrize("name", files(f"{TAGGER}/model.tar.gz", "allennlp/archives/fta_projection.tar.gz"))
def test_the_token_embedder_of_an_archive(name: str) -> None:
    folder = golden(name).parent
    expected = np.load(folder / "expected.npz")
    prefix = "fta_projection/" if "fta" in name else ""
    sentences = json.loads((folder / "sentences.json").read_text())
    model = load(golden(name))
    reader = Carrying(model)
    for call in ("first_call", "second_call"):
        assert_same_as_golden(embedded(model, reader.read(sentences)), expected[f"{prefix}{call}"], name)


def test_the_two_mixes_of_an_archive_without_options() -> None:
    folder = golden("allennlp/archives")
    model, expected = load(folder / "direct_two_mixes.tar.gz"), np.load(folder / "expected.npz")
    output = Carrying(model).read(json.loads((folder / "sentences.json").read_text()))
    for k, mix in enumerate(model.mixes):
        assert mix.layer_norm
        assert_same_as_golden(mixed(output, mix), expected[f"direct_two_mixes/rep{k}"], "allennlp/archives")
    assert "cell_clip 3" in model.card["assumed"]


def test_a_bare_state_dict_with_its_projection() -> None:
    model = load(golden("allennlp/token_embedder_projection.th"))
    expected = np.load(golden("allennlp/skip2_relu") / "expected.npz")
    found = embedded(model, Carrying(model).read(batches()[0]))
    assert_same_as_golden(found, expected["token_embedder/out"], "allennlp/token_embedder_projection.th")


def test_options_beside_a_state_dict_count(tmp_path: Path) -> None:
    shutil.copy(golden("allennlp/token_embedder_projection.th"), tmp_path / "weights.th")
    options = json.loads((golden("allennlp/skip2_relu") / "options.json").read_text())
    options["lstm"]["cell_clip"] = 0.5
    (tmp_path / "options.json").write_text(json.dumps(options))
    assert load(tmp_path / "weights.th").config.cell_clip == 0.5


def test_tokens_to_add_of_an_archive(tmp_path: Path) -> None:
    with tarfile.open(golden("allennlp/archives/fta_projection.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    config = json.loads((tmp_path / "config.json").read_text())
    config["dataset_reader"]["token_indexers"]["elmo"]["tokens_to_add"] = {"[CLS]": 7, "<S>": 9}
    (tmp_path / "config.json").write_text(json.dumps(config))
    characters = load(tmp_path).indexer.characters
    assert isinstance(characters, ByteScheme)
    assert characters.specials == {"<S>": 9, "</S>": 257, "[CLS]": 7}


def test_names_and_signs_are_those_of_allennlps_own_conversion() -> None:
    """The state dict that AllenNLP made of an HDF5 file, and our way there and back."""
    hdf5 = load(golden("allennlp/skip2_relu"))
    file = read_state_dict(golden("allennlp/token_embedder_projection.th")).within("_elmo._elmo_lstm.")
    written = file_arrays(hdf5.tensors, ALLENNLP, hdf5.config)
    for name, values in written.items():
        assert_same_as_golden(values, file.arrays[name].read(), "allennlp names", tolerance=1e-7)
    assert set(written) == set(file.arrays)
    for name, values in read_tensors(file, ALLENNLP, hdf5.config).items():
        assert_same_as_golden(values, hdf5.tensors[name], "allennlp names", tolerance=1e-7)


def test_native_to_allennlp_loads_again(tmp_path: Path) -> None:
    model = small_model()
    save_allennlp(model, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["options.json", "weights.hdf5"]
    options = json.loads((tmp_path / "out" / "options.json").read_text())
    assert set(options["lstm"]) == {
        "dim",
        "projection_dim",
        "n_layers",
        "cell_clip",
        "proj_clip",
        "use_skip_connections",
    }
    assert options["char_cnn"]["n_characters"] == 262
    assert load(tmp_path / "out").fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"skip_connections": False}, "no skip connections"),
        ({"bidirectional": False}, "one direction only"),
        ({"cell": 4}, "its LSTM has no projection"),
        ({"projection": 6, "cell": 7}, "where bilm-tf only knows projections to fewer"),
        ({"project_tokens": False, "projection": 7, "cell": 8}, "no projection"),
    ],
)
def test_what_allennlp_cannot_read_is_not_written(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    small = replace(SMALL, characters=replace(SMALL.characters, filters=((1, 3), (2, 4))))
    model = small_model(replace(small, **change) if "projection" not in change else _wide(change))
    with pytest.raises(FormatError, match=reason):
        save_allennlp(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _wide(change: dict[str, Any]) -> Any:
    filters = ((1, 3), (2, 4)) if change.get("project_tokens") is False else ((1, 3), (2, 3))
    return replace(SMALL, characters=replace(SMALL.characters, filters=filters), **change)


def test_fifty_characters_are_all_that_allennlp_reads(tmp_path: Path) -> None:
    model = small_model(replace(SMALL, characters=replace(SMALL.characters, max_characters=49)))
    with pytest.raises(FormatError, match="reads 49 characters of a token, and AllenNLP 50"):
        save_allennlp(model, tmp_path / "out")
