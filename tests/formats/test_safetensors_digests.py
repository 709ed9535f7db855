"""A native model says what it was when it was saved: one flipped bit anywhere in it is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.damage import flip_bit, forget_digests
from helpers.refusals import refused
from helpers.small_models import small_model
from polyseme.formats.detect import load
from polyseme.formats.native import CONFIG, README, WEIGHTS, save_native
from polyseme.formats.releases.known import BUNDLED, bundled_models
from polyseme.formats.safetensors_file import DIGESTS


def copy_of(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(bundled_models()[name], folder / name))


@pytest.mark.parametrize("name", BUNDLED)
def test_the_bundled_models_have_digests_of_all_their_files(name: str) -> None:
    """Where a bundled model was replaced on purpose: python tests/helpers/pins.py"""
    folder = bundled_models()[name]
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    beside = {path.name for path in folder.iterdir()} - {CONFIG, WEIGHTS, README, "LICENSE"}
    assert beside == set(config[DIGESTS]["files"])
    assert config[DIGESTS]["tensors"].keys() >= load(name).tensors.keys()


def test_24_of_24_flipped_bits_in_the_bundled_weights_are_noticed(tmp_path: Path) -> None:
    folder = copy_of("en", tmp_path)
    whole = (folder / WEIGHTS).read_bytes()
    for seed in range(24):
        flip_bit(folder / WEIGHTS, seed=seed)
        with refused(r"model\.safetensors is (damaged: the array '.*' is not what was saved|truncated)"):
            load(folder)
        (folder / WEIGHTS).write_bytes(whole)
    load(folder)


def test_every_flipped_bit_of_a_small_model_is_noticed(tmp_path: Path) -> None:
    """In settings, weights and lists; but for bits that turn a blank between settings into another blank."""
    folder = tmp_path / "model"
    save_native(small_model(softmax=True), folder)
    before = load(folder)
    for path in sorted(folder.iterdir()):
        if path.name == README:
            continue
        whole = path.read_bytes()
        for seed in range(60):
            flip_bit(path, seed=seed)
            try:
                after = load(folder)
            except Exception as error:
                assert type(error).__name__.endswith(("FormatError", "MissingTensor", "WrongShape")), error
            else:
                assert path.name in (CONFIG, WEIGHTS), path.name
                assert after.fingerprint() == before.fingerprint(), path.name
                assert json.loads(path.read_bytes()) == json.loads(whole) if path.name == CONFIG else True
            path.write_bytes(whole)


def test_a_change_of_the_settings_by_hand_is_named_with_the_way_out(tmp_path: Path) -> None:
    save_native(small_model(), tmp_path / "model")
    path = tmp_path / "model" / CONFIG
    config = json.loads(path.read_text(encoding="utf-8"))
    config["card"]["licence"] = "CC0-1.0"
    path.write_text(json.dumps(config), encoding="utf-8")
    with refused('take the line "checksum" out if you changed the file yourself'):
        load(tmp_path / "model")
    del config["checksum"]
    path.write_text(json.dumps(config), encoding="utf-8")
    assert load(tmp_path / "model").card["licence"] == "CC0-1.0"


def test_a_model_from_before_there_were_digests_is_read(tmp_path: Path) -> None:
    save_native(small_model(), tmp_path / "model")
    forget_digests(tmp_path / "model")
    assert load(tmp_path / "model").fingerprint() == small_model().fingerprint()


def test_line_ends_of_windows_in_a_list_do_no_harm(tmp_path: Path) -> None:
    folder = copy_of("zh", tmp_path)
    characters = folder / "characters.txt"
    characters.write_bytes(characters.read_bytes().replace(b"\n", b"\r\n"))
    assert load(folder).fingerprint() == load("zh").fingerprint()


def test_a_list_that_is_gone_is_missed(tmp_path: Path) -> None:
    folder = copy_of("en", tmp_path)
    (folder / "vocab.txt").unlink()
    with refused(r"the file vocab\.txt is missing"):
        load(folder)
