"""The native folder: what is saved is what is loaded; it appears whole or not at all; nonsense is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load as load_bytes
from safetensors.torch import save_file

from helpers.damage import forget_digests
from helpers.golden import golden
from helpers.refusals import refused
from helpers.small_models import SMALL, configs, small_model
from polyseme.bilm_config import BiLMConfig
from polyseme.formats.card import parameter_count
from polyseme.formats.detect import load
from polyseme.formats.json_file import Settings
from polyseme.formats.model import MixWeights, OutputProjection, StoredModel
from polyseme.formats.native import load_native, save_native
from polyseme.formats.options_json import config_from_options
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary, WordTable


def same(one: StoredModel, other: StoredModel) -> bool:
    """Equal in everything that is saved."""
    plain = all(getattr(one, f) == getattr(other, f) for f in ("config", "indexer", "vocabulary", "mixes", "card"))
    pairs = [(one.tensors[name], other.tensors[name]) for name in one.tensors]
    for part in ("softmax", "output_projection"):
        mine, theirs = getattr(one, part), getattr(other, part)
        if (mine is None) != (theirs is None):
            return False
        if mine is not None:
            pairs += [(mine.weight, theirs.weight), (mine.bias, theirs.bias)]
    return plain and set(one.tensors) == set(other.tensors) and all(np.array_equal(a, b) for a, b in pairs)


@given(configs(), st.booleans())
@settings(max_examples=20)
def test_what_is_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, config: BiLMConfig, softmax: bool) -> None:
    folder = tmp_path_factory.mktemp("native") / "model"
    model = small_model(config, softmax=softmax)
    save_native(model, folder)
    assert same(load_native(folder), model)


def test_everything_that_a_model_may_have(tmp_path: Path) -> None:
    model = replace(
        small_model(softmax=True),
        mixes=(MixWeights((0.1, -0.2, 1 / 3), 0.7), MixWeights((0.0, 0.0, 0.0), 1.0, layer_norm=True)),
        output_projection=OutputProjection(torch.randn(3, SMALL.width).numpy(), torch.randn(3).numpy()),
        card={"name": "tiny", "languages": ["en", "한국어"], "licence": "CC-BY-4.0", "training": {"tokens": 12}},
        indexer=Indexer(characters=ByteScheme(50, {"[CLS]": 7})),
    )
    save_native(model, tmp_path / "model")
    assert same(load(tmp_path / "model"), model)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "vocab.txt",
    ]


def test_the_card_has_the_front_matter_that_hubs_read(tmp_path: Path) -> None:
    card = {"name": "tiny", "description": "For tests.", "languages": ["en"], "licence": "Apache-2.0"}
    save_native(replace(small_model(), card=card), tmp_path / "model")
    lines = (tmp_path / "model" / "README.md").read_text().splitlines()
    assert lines[0] == "---"
    front = lines[1 : lines.index("---", 1)]
    assert {'library_name: "polyseme"', 'language: ["en"]', 'license: "apache-2.0"'} <= set(front)
    assert "# tiny" in lines and "For tests." in lines


def test_whoever_may_read_the_configuration_may_read_the_weights(tmp_path: Path) -> None:
    save_native(small_model(SMALL), tmp_path / "model")
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1


def test_half_precision_rounds_and_is_loaded_as_float32(tmp_path: Path) -> None:
    model = small_model()
    save_native(model, tmp_path / "half", "float16")
    save_native(model, tmp_path / "full", "float32")
    loaded = load(tmp_path / "half")
    for name, values in loaded.tensors.items():
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, model.tensors[name].astype(np.float16))
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "full")]
    assert sizes[0] < 0.7 * sizes[1]


def test_what_half_precision_cannot_hold_is_refused(tmp_path: Path) -> None:
    model = small_model()
    model.tensors["token_encoder.projection.bias"][0] = 1e5
    with refused("values that float16 cannot hold; save it as float32"):
        save_native(model, tmp_path / "model", "float16")
    assert list(tmp_path.iterdir()) == []


def test_a_vocabulary_with_a_word_twice_keeps_every_id(tmp_path: Path) -> None:
    """bilm-tf looks the last one up; so does the saved model."""
    model = small_model(replace(SMALL, characters=None, words=_words(6), project_tokens=False))
    words = ("<S>", "</S>", "<UNK>", "a", "b", "a")
    ids = {word: number for number, word in enumerate(words)}
    model = replace(model, vocabulary=Vocabulary(words), indexer=Indexer(words=WordTable(ids, "<UNK>", "<S>", "</S>")))
    save_native(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.indexer.rows(words).tolist() == model.indexer.rows(words).tolist() == [[1], [2], [3], [6], [5], [6]]


def _words(size: int) -> Any:
    from polyseme.bilm_config import WordConfig

    return WordConfig(size, SMALL.projection)


def test_a_save_replaces_a_save_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_native(small_model(softmax=True), folder)
    save_native(small_model(seed=1), folder)
    assert not (folder / "vocab.txt").exists()
    assert load(folder).fingerprint() == small_model(seed=1).fingerprint()
    (folder / "notes.txt").write_text("mine")
    with refused(r"holds 'notes\.txt', which is not part of a model"):
        save_native(small_model(seed=2), folder)
    assert load(folder).fingerprint() == small_model(seed=1).fingerprint()
    (tmp_path / "file").write_text("mine")
    with refused("is not a folder"):
        save_native(small_model(), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_save_that_fails_leaves_nothing(tmp_path: Path) -> None:
    model = replace(small_model(), vocabulary=Vocabulary(("a\tb",)))
    with refused("holds a tab or a line break"):
        save_native(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_model_loads_offline_in_a_new_process(tmp_path: Path) -> None:
    model = small_model()
    save_native(model, tmp_path / "model")
    script = (
        "import socket, sys\n"
        "def no_network(*args, **options): raise OSError('no network here')\n"
        "socket.socket.connect = socket.create_connection = no_network\n"
        "from polyseme.formats.detect import load\n"
        "print(load(sys.argv[1]).fingerprint())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == model.fingerprint(), done.stderr


RELEASED = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]


@pytest.mark.parametrize(
    ("cell", "projection", "highways", "count"),
    [(1024, 128, 1, 13_593_296), (2048, 256, 1, 28_027_728), (4096, 512, 2, 93_600_848), (2048, 512, 2, 55_819_344)],
)
def test_released_models_have_the_known_number_of_weights(
    cell: int, projection: int, highways: int, count: int
) -> None:
    lstm = {"dim": cell, "projection_dim": projection, "n_layers": 2, "use_skip_connections": True}
    characters = {"activation": "relu", "embedding": {"dim": 16}, "filters": RELEASED, "n_highway": highways}
    options = {"lstm": lstm, "char_cnn": characters | {"max_characters_per_token": 50}}
    assert parameter_count(config_from_options(Settings(options, "options.json"))) == count


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: c.update(colour="red"), "unknown setting 'colour'"),
        (lambda c: c.update(version=2), "has version 2, but this polyseme reads version 1"),
        (lambda c: c.pop("version"), "no setting 'version'"),
        (lambda c: c.update(format="other"), 'does not say "format": "polyseme"'),
        (lambda c: c.pop("network"), "neither characters nor words"),
        (lambda c: c["network"].update(heads=8), "no setting 'heads'"),
        (lambda c: c["network"].update(cell="big"), "cell is 'big'"),
        (lambda c: c["network"].update(cell=10**9, projection=10**9), "cell = 1,000,000,000, but no model has more"),
        (lambda c: c["network"].update(layers=10**9), "layers = 1,000,000,000"),
        (lambda c: c["network"].update(cell=7), "where .* was expected"),
        (lambda c: c["network"].update(layers=3), "is missing"),
        (lambda c: c["network"].update(layers=1), "settings do not mention"),
        (lambda c: c["network"]["characters"].update(filters="wide"), "list of .width, count. pairs"),
        (lambda c: c["network"]["characters"].update(alphabet=300), "'bytes' with 261"),
        (lambda c: c["indexer"].update(bytes=True), "unknown setting 'bytes'"),
        (lambda c: c["indexer"].update(characters=None), "do not agree"),
        (lambda c: c["indexer"]["characters"].update(scheme="runes"), "the scheme 'runes'"),
        (lambda c: c["indexer"]["characters"].update(scheme="unicode"), r"characters\.txt is missing"),
        (lambda c: c["indexer"]["characters"].update(specials={"x": 261}), "has the id 261"),
        (lambda c: c["indexer"]["characters"].update(specials={"x": "y"}), "a whole number was expected"),
        (lambda c: c.update(mixes=[{"weights": [1], "scale": 1, "layer_norm": False}]), "1 weights for 3 layers"),
        (lambda c: c.update(mixes=[{"weights": [1, 2, "x"], "scale": 1, "layer_norm": False}]), "a list of numbers"),
        (lambda c: c.update(mixes={}), "a list was expected"),
        (lambda c: c.update(card="mine"), "an object of settings was expected"),
    ],
)
def test_settings_that_are_nonsense(tmp_path: Path, change: Change, reason: str) -> None:
    save_native(small_model(), tmp_path / "model")
    forget_digests(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    with refused(reason):
        load(tmp_path / "model")


def test_weights_that_are_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_native(small_model(softmax=True), folder)
    forget_digests(folder)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    tensors = load_bytes(whole)  # not load_file, which maps the file that is about to change

    def with_tensors(**changes: torch.Tensor | None) -> None:
        renamed = {name.replace("_DOT_", "."): x for name, x in changes.items()}
        changed = {name: x for name, x in {**tensors, **renamed}.items() if x is not None}
        save_file(changed, path)

    for content, reason in ((whole[:-4], "truncated"), (b"", "truncated"), (b"not safetensors at all", "truncated")):
        path.write_bytes(content)
        with refused(f"{reason} or not a safetensors file"):
            load(folder)
    with_tensors(softmax_DOT_bias=torch.zeros(8))
    with refused(r"'softmax.weight' has shape \[9, 4\] where \[8, 4\] was expected"):
        load(folder)
    with_tensors(softmax_DOT_bias=None)
    with refused("the array 'softmax.bias' is missing"):
        load(folder)
    with_tensors(softmax_DOT_bias=torch.full((9,), float("nan")))
    with refused("9 values of 9 that are not finite"):
        load(folder)
    with_tensors(softmax_DOT_bias=torch.zeros(9, dtype=torch.int64))
    with refused("values of type I64"):
        load(folder)
    with_tensors(extra=torch.zeros(1))
    with refused("an array 'extra' that the settings do not mention"):
        load(folder)
    with_tensors()
    (folder / "vocab.txt").write_text("<S>\n</S>\n<UNK>\n")
    with refused("has 3 words, but the softmax has 9 rows"):
        load(folder)
    (folder / "vocab.txt").write_bytes(b"\xff\n" * 9)
    with refused("not UTF-8"):
        load(folder)
    (folder / "vocab.txt").unlink()
    path.unlink()
    with refused(r"model\.safetensors is missing"):
        load(folder)


def test_a_float16_file_of_a_golden_model_stays_close(tmp_path: Path) -> None:
    model = load(golden("bilm-tf-generated/inference/skip2_relu"))
    save_native(model, tmp_path / "half", "float16")
    largest = max(float(np.abs(model.tensors[n] - x).max()) for n, x in load(tmp_path / "half").tensors.items())
    assert 0 < largest < 2e-3


def test_a_loaded_model_does_not_depend_on_its_file(tmp_path: Path) -> None:
    """A mapped file that shrinks ends the process; so nothing may be mapped."""
    model = small_model()
    save_native(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    assert loaded.fingerprint() == model.fingerprint()
