"""A fingerprint is that of what a model computes, the same in every version; tensors leave memory and come back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.pins import PINS, fingerprints
from helpers.small_models import SMALL, small_model
from helpers.tiny_models import tiny_model
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.elmo import Elmo
from polyseme.formats import model
from polyseme.formats.detect import load
from polyseme.formats.model import ReloadableTensors, model_fingerprint
from polyseme.formats.native import save_native
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme, UnicodeScheme
from polyseme.text.vocabulary import Indexer

TENSORS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([0.5], np.float32)}
INDEXER = Indexer(ByteScheme(specials={"<S>": 256}))


def test_the_pinned_fingerprints_have_not_changed() -> None:
    """Where a bundled model was replaced on purpose: python tests/helpers/pins.py"""
    assert fingerprints() == json.loads(PINS.read_text(encoding="utf-8"))


def test_it_is_the_hash_that_its_description_says() -> None:
    settings = (
        '{"indexer":{"characters":{"specials":{"<S>":256}}},'
        '"network":{"cell":6,"characters":{"alphabet":261,"dim":3,"filters":[[1,3],[2,4]],"highways":1},"projection":4},'
        '"scheme":"bytes"}'
    )
    expected = hashlib.sha256(settings.encode())
    expected.update(b'["a",[1]]' + np.array([0.5], "<f4").tobytes())
    expected.update(b'["b",[2,3]]' + np.arange(6).astype("<f4").tobytes())
    assert model_fingerprint(SMALL, INDEXER, TENSORS) == f"1:{expected.hexdigest()}"


def later_version(value: Any, **changes: Any) -> Any:
    """The same values in a class of another name that has one more field, with a default."""
    known = [(field.name, field.type, field) for field in fields(value)]
    made = make_dataclass("Renamed", [*known, ("bias_correction", bool, False)], frozen=True)
    return made(**{field.name: getattr(value, field.name) for field in fields(value)} | changes)


def test_a_new_defaulted_field_or_a_renamed_class_changes_nothing() -> None:
    later = later_version(SMALL, characters=later_version(SMALL.characters))
    assert model_fingerprint(later, INDEXER, TENSORS) == model_fingerprint(SMALL, INDEXER, TENSORS)
    changed = later_version(SMALL, bias_correction=True)
    assert model_fingerprint(changed, INDEXER, TENSORS) != model_fingerprint(SMALL, INDEXER, TENSORS)


def test_the_order_and_layout_of_the_tensors_do_not_matter() -> None:
    turned = {"a": TENSORS["a"], "b": np.asfortranarray(TENSORS["b"]).astype(">f4")}
    assert model_fingerprint(SMALL, INDEXER, turned) == model_fingerprint(SMALL, INDEXER, TENSORS)


def test_the_network_of_a_model_has_its_fingerprint() -> None:
    model = small_model()
    assert model_fingerprint(model.config, model.indexer, BiLM.of(model).arrays()) == model.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"cell_clip": None},
        {"cell_clip": 2.5},
        {"skip_connections": False},
        {"characters": CharacterConfig(BYTE_ALPHABET, dim=3, filters=((1, 3), (2, 4)), highways=2)},
    ],
    ids=str,
)
def test_what_changes_vectors_changes_the_fingerprint(change: dict[str, Any]) -> None:
    other = replace(SMALL, **change)
    assert model_fingerprint(other, INDEXER, TENSORS) != model_fingerprint(SMALL, INDEXER, TENSORS)


def test_a_value_a_shape_a_name_and_an_alphabet_change_it() -> None:
    letters = {special: number for number, special in enumerate(UnicodeScheme.SPECIALS)}
    values = TENSORS["b"].copy()
    values[1, 2] = np.nextafter(values[1, 2], np.float32(np.inf))
    found = {
        model_fingerprint(SMALL, indexer, tensors)
        for indexer, tensors in (
            (INDEXER, TENSORS),
            (INDEXER, {**TENSORS, "b": values}),
            (INDEXER, {**TENSORS, "b": TENSORS["b"].reshape(3, 2)}),
            (INDEXER, {"a": TENSORS["a"], "c": TENSORS["b"]}),
            (Indexer(ByteScheme()), TENSORS),
            (Indexer(UnicodeScheme(letters)), TENSORS),
            (Indexer(UnicodeScheme({**letters, "a": 6})), TENSORS),
        )
    }
    assert len(found) == 7


def test_a_whole_number_is_the_same_as_its_float() -> None:
    whole, floating = BiLMConfig.from_dict(asdict(SMALL) | {"cell_clip": 5}), replace(SMALL, cell_clip=5.0)
    assert model_fingerprint(whole, INDEXER, TENSORS) == model_fingerprint(floating, INDEXER, TENSORS)


def test_weights_that_left_come_back_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_native(tiny_model(), tmp_path / "model")
    small = load(tmp_path / "model")
    assert not isinstance(small.tensors, ReloadableTensors)  # not worth reading again
    monkeypatch.setattr(model, "WORTH_BYTES", 0)
    elmo = Elmo.from_pretrained(tmp_path / "model", lang="whitespace")
    tensors = elmo.stored.tensors
    assert isinstance(tensors, ReloadableTensors) and tensors._tensors is None
    expected = Elmo(small, lang="whitespace").encode_tokens([["a", "b"]])[0].layers
    np.testing.assert_array_equal(elmo.encode_tokens([["a", "b"]])[0].layers, expected)
    assert elmo.fingerprint == small.fingerprint()
    assert tensors.keys() == small.tensors.keys()


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_vectors_of_fewer_bits_are_near_and_have_another_fingerprint(precision: str) -> None:
    whole = Elmo(tiny_model(), lang="whitespace")
    fewer = Elmo(tiny_model(), lang="whitespace", precision=precision)  # type: ignore[arg-type]
    sentence = [["the", "old", "bank", "."]]
    a, b = (one.encode_tokens(sentence)[0].layers for one in (whole, fewer))
    assert 0 < np.abs(a - b).max() < 0.05 * np.abs(a).max()
    assert len({whole.fingerprint, fewer.fingerprint}) == 2
    assert len(whole.fingerprint) == len(fewer.fingerprint)
