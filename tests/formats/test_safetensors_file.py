"""A softmax in 8 bits: what is read back is scale × number, to the bit, and stays so however often it is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load_file, save_file

from helpers.refusals import refused
from helpers.small_lms import small_lm
from polyseme.elmo import Elmo
from polyseme.formats.model import RoundedRows, StoredModel
from polyseme.formats.native import load_native, save_native
from polyseme.formats.safetensors_file import round_rows

ROWS, SCALES = "softmax.weight", "softmax.scale"
weights = arrays.arrays(
    np.float32,
    st.tuples(st.integers(0, 5), st.integers(1, 6)),
    elements=st.floats(-100, 100, width=32) | st.floats(-(2.0**-100), 2.0**-100, width=32),
)


@given(weights)
def test_a_row_is_off_by_half_a_step_at_most(weight: np.ndarray) -> None:
    numbers, scales = round_rows(weight)
    assert numbers.dtype == np.int8 and np.abs(numbers.astype(int)).max(initial=0) <= 127
    error = np.abs(RoundedRows(numbers, scales).widened().astype(np.float64) - weight)
    assert (error <= 0.501 * np.abs(weight).max(axis=1, initial=0)[:, None] / 127 + 2e-36).all()


@given(weights.filter(lambda x: (np.abs(x).max(axis=1, initial=0) > 1e-25).all()))
def test_rounded_rows_are_rounded_to_themselves(weight: np.ndarray) -> None:
    numbers, scales = round_rows(weight)
    once = RoundedRows(numbers, scales).widened()
    np.testing.assert_array_equal(once.astype(np.float64), numbers * scales.astype(np.float64)[:, None])  # exact
    np.testing.assert_array_equal(RoundedRows(*round_rows(once)).widened(), once)


@pytest.fixture(scope="module")
def model() -> StoredModel:
    return small_lm()


def test_what_is_read_is_scale_times_number(model: StoredModel, tmp_path: Path) -> None:
    save_native(model, tmp_path / "small", "float16", softmax="int8")
    stored = load_file(tmp_path / "small" / "model.safetensors")
    assert stored[ROWS].dtype == np.int8 and stored[SCALES].dtype == np.float32
    assert {array.dtype for name, array in stored.items() if name not in (ROWS, SCALES)} == {np.dtype(np.float16)}
    again = load_native(tmp_path / "small")
    assert again.softmax is not None and model.softmax is not None
    np.testing.assert_array_equal(again.softmax.weight, stored[ROWS] * stored[SCALES][:, None])
    assert again.softmax.weight.dtype == np.float32
    assert np.abs(again.softmax.weight - model.softmax.weight).max() < 0.02
    np.testing.assert_allclose(
        Elmo(again, device="cpu").score("the cat sat").forward,
        Elmo(model, device="cpu").score("the cat sat").forward,
        atol=0.1,
    )


def test_rows_are_not_widened_for_vectors(model: StoredModel, tmp_path: Path) -> None:
    save_native(model, tmp_path / "small", softmax="int8")
    elmo = Elmo.from_pretrained(tmp_path / "small", lang="en")
    elmo.encode("the cat sat")
    assert elmo.stored.softmax is not None
    assert "weight" not in vars(elmo.stored.softmax)
    elmo.score("the cat sat")
    assert "weight" in vars(elmo.stored.softmax)


def test_saved_twice_it_is_the_same_file(model: StoredModel, tmp_path: Path) -> None:
    save_native(model, tmp_path / "once", "float16", softmax="int8")
    save_native(load_native(tmp_path / "once"), tmp_path / "twice", "float16", softmax="int8")
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "twice" / path.name).read_bytes(), path.name


def test_vectors_and_fingerprint_do_not_depend_on_it(model: StoredModel, tmp_path: Path) -> None:
    save_native(model, tmp_path / "small", softmax="int8")
    assert load_native(tmp_path / "small").fingerprint() == model.fingerprint()


def test_damage_is_noticed(model: StoredModel, tmp_path: Path) -> None:
    save_native(model, tmp_path / "small", softmax="int8")
    path = tmp_path / "small" / "model.safetensors"
    whole = load_file(path)
    whole[ROWS][3, 1] ^= 1
    save_file(whole, path)
    with refused(r"model\.safetensors is damaged: the array 'softmax\.weight' is not what was saved"):
        load_native(tmp_path / "small")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({SCALES: np.ones(3, np.float32)}, r"'softmax\.scale' has shape \[3\] where \[14\]"),
        ({SCALES: np.full(14, np.nan, np.float32)}, "14 values of 14 that are not finite"),
        ({SCALES: np.ones(14, np.int8)}, r"'softmax\.scale' holds values of type I8"),
        ({ROWS: np.ones((14, 5), np.float32)}, r"'softmax\.weight' has scales, but holds F32 instead of int8"),
        ({ROWS: None}, r"the array 'softmax\.weight' is missing"),
        ({SCALES: None}, r"'softmax\.weight' holds values of type I8, where floating-point"),
    ],
)
def test_arrays_that_do_not_fit(
    model: StoredModel, tmp_path: Path, change: dict[str, np.ndarray | None], reason: str
) -> None:
    save_native(model, tmp_path / "small", softmax="int8")
    config = tmp_path / "small" / "config.json"
    lines = config.read_text(encoding="utf-8")
    config.write_text(lines[: lines.index(',\n  "digests"')] + "\n}\n", encoding="utf-8")  # as if there were none
    path = tmp_path / "small" / "model.safetensors"
    changed = {**load_file(path), **change}
    save_file({name: array for name, array in changed.items() if array is not None}, path)
    with refused(reason):
        load_native(tmp_path / "small")


def test_a_model_without_a_softmax_has_none_to_round(model: StoredModel, tmp_path: Path) -> None:
    with refused("the model has no softmax; leave it out"):
        save_native(replace(model, softmax=None), tmp_path / "small", softmax="int8")
    with refused("softmax is 'int4', but its rows are stored as float32, float16, int8"):
        save_native(model, tmp_path / "small", softmax="int4")  # type: ignore[arg-type]
