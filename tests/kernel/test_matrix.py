"""Packed weights, and products with them: right, and with the same bits for a row in any company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.kernel_libraries import every_library, same_bits
from polyseme.engine.compiled import CompiledLinear
from polyseme.engine.weights import LinearWeights
from polyseme.kernel.library import Library
from polyseme.kernel.matrix import Kind, aligned, pack, round_columns

each = pytest.mark.parametrize("library", every_library())

#: (K, N) of the products in the released models and in small ones, and shapes that fit no vector.
SHAPES = [(128, 2048), (512, 128), (80, 512), (1024, 128), (4096, 512), (37, 100), (1100, 11), (1, 1), (129, 65)]


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@each
@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize(("depth", "columns"), SHAPES)
def test_it_is_the_product(library: Library, precision: Any, depth: int, columns: int) -> None:
    weight, bias, x = random(depth, columns), random(columns, seed=1), random(20, depth, seed=2)
    linear = CompiledLinear(library, LinearWeights(weight, bias), precision)
    if precision == "float16":
        weight = weight.astype(np.float16)
    exact = x.astype(np.float64) @ weight.astype(np.float64) + bias
    np.testing.assert_allclose(linear(x), exact, rtol=0, atol=5e-6 * depth**0.5)


@each
@settings(max_examples=25)
@given(st.integers(1, 300), st.integers(1, 150), st.integers(1, 150), st.data())
def test_a_row_has_the_same_bits_in_any_company(
    library: Library, depth: int, columns: int, rows: int, data: st.DataObject
) -> None:
    linear = CompiledLinear(library, LinearWeights(random(depth, columns), random(columns)), "float32")
    x = random(rows, depth)
    whole = linear(x)
    begin = data.draw(st.integers(0, rows - 1))
    end = data.draw(st.integers(begin + 1, rows))
    assert np.array_equal(linear(x[begin:end].copy()), whole[begin:end])


@pytest.mark.skipif(len(same_bits()) < 2, reason="only one library with fused multiply-add can run here")
@pytest.mark.parametrize(("depth", "columns"), SHAPES)
def test_all_instruction_sets_give_the_same_bits(depth: int, columns: int) -> None:
    weights, x = LinearWeights(random(depth, columns), random(columns, seed=1)), random(50, depth, seed=2)
    best, *others = (CompiledLinear(library, weights, "float32")(x) for library in reversed(same_bits()))
    assert all(np.array_equal(best, other) for other in others)


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(1e-30, 1e30))
def test_rounded_columns_are_near(depth: int, columns: int, size: float) -> None:
    weight = random(depth, columns) * np.float32(size)
    whole, scales = round_columns(weight)
    assert np.abs(whole).max() <= 127
    assert (np.abs(whole * scales - weight) <= 0.51 * scales).all()


def test_a_column_of_zeros_stays_one() -> None:
    whole, scales = round_columns(np.zeros((3, 2), np.float32))
    assert not whole.any() and not scales.any()


@each
@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_packed_can_be_unpacked(library: Library, kind: Kind) -> None:
    weight = np.rint(127 * random(19, 2 * library.panel - 3).clip(-1, 1))
    weight[0] = 127  # so that every column has the scale 1
    packed = pack(library, weight, kind)
    panels, groups, panel, group = packed.weights.shape
    found = packed.weights.transpose(1, 3, 0, 2).reshape(groups * group, panels * panel)
    assert packed.depth == groups * group >= 19
    assert np.array_equal(found[:19, : weight.shape[1]], weight)
    assert not found[19:].any() and not found[:, weight.shape[1] :].any()
    if kind is Kind.INT8 and packed.offsets is not None:
        assert np.array_equal(packed.offsets, library.row_offset * found.sum(axis=0, dtype=np.int64))


@pytest.mark.parametrize("shape", [(1,), (3, 5), (0, 4), (2, 3, 4)])
def test_arrays_for_vectors_begin_where_a_cache_line_does(shape: tuple[int, ...]) -> None:
    for dtype in (np.int8, np.float16, np.float32):
        array = aligned(shape, dtype)
        assert array.shape == shape and array.dtype == dtype
        assert array.ctypes.data % 64 == 0 or array.size == 0
