"""A product's rows: the right numbers, and the same bits in any company."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.engine.product import PROBED_ROWS, ROUNDING, Plain, Product, can_pack, least_rows, rows_filled_up
from polyseme.engine.threads import one_intraop_thread

needs_packing = pytest.mark.skipif(not can_pack(), reason="torch has no oneDNN here")

#: (K, N) of the products in the released models and in small ones, and shapes that fit no vector.
SHAPES = [
    (128, 2048),
    (512, 128),
    (112, 512),
    (512, 1024),
    (128, 4096),
    (1024, 128),
    (2048, 128),
    (37, 100),
    (1100, 11),
]


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(("depth", "columns"), SHAPES)
@pytest.mark.parametrize("rows", [1, 2, 3, 17, 64, 65, 100])
def test_it_is_the_product(depth: int, columns: int, rows: int) -> None:
    weight, bias, x = torch.randn(depth, columns), torch.randn(columns), torch.randn(rows, depth)
    product = Product(weight, bias)
    exact = x.double() @ weight.double()
    assert product(x).shape == (rows, columns)
    torch.testing.assert_close(product(x).double(), exact + bias, rtol=0, atol=1e-5 * depth**0.5)
    other = torch.randn(rows, columns)
    torch.testing.assert_close(product.plus(x, other).double(), exact + other, rtol=0, atol=1e-5 * depth**0.5)


@needs_packing
@pytest.mark.parametrize(("depth", "columns"), SHAPES)
def test_a_row_has_the_same_bits_among_any_number_of_rows(depth: int, columns: int) -> None:
    with one_intraop_thread():
        product = Product(torch.randn(depth, columns), torch.randn(columns))
        x, other = torch.randn(600, depth), torch.randn(600, columns)
        all_rows, all_sums = product(x), product.plus(x, other)
        for start, rows in [
            (0, 1),
            (7, 1),
            (599, 1),
            (3, 2),
            (30, 3),
            (100, 16),
            (11, 63),
            (2, 64),
            (5, 65),
            (80, 333),
        ]:
            part = slice(start, start + rows)
            assert torch.equal(product(x[part]), all_rows[part])
            assert torch.equal(product.plus(x[part], other[part]), all_sums[part])


@needs_packing
@settings(max_examples=25)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 150), st.integers(0, 149))
def test_bits_are_kept_at_odd_sizes(depth: int, columns: int, rows: int, at: int) -> None:
    with one_intraop_thread():
        product = Product(torch.randn(depth, columns))
        x = torch.randn(rows, depth)
        row = at % rows
        assert torch.equal(product(x)[row], product(x[row : row + 1])[0])


@needs_packing
def test_a_long_single_row_runs_with_a_second_one() -> None:
    """oneDNN takes another kernel for one row of more than 1,024 numbers; the product notices."""
    product = Product(torch.randn(4096, 64))
    assert product.least_rows == least_rows(product.kernel, 4096, 64) <= 16
    assert product(torch.randn(1, 4096)).shape == (1, 64)


def test_a_product_of_zeros_says_nothing_about_its_shape() -> None:
    assert Product(torch.zeros(33, 77)).least_rows == PROBED_ROWS[-1]
    if can_pack():
        assert Product(torch.randn(33, 77)).least_rows == 1


def test_without_packing_the_numbers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, bias, x = torch.randn(40, 96) / 40**0.5, torch.randn(96), torch.randn(5, 40)
    packed = Product(weight, bias)(x)
    monkeypatch.setattr("polyseme.engine.product.can_pack", lambda: False)
    product = Product(weight, bias)
    assert isinstance(product.kernel, Plain)
    torch.testing.assert_close(product(x), packed, rtol=0, atol=1e-5)
    torch.testing.assert_close(product.plus(x, product(x)), packed * 2 - bias, rtol=0, atol=1e-5)


def test_large_numbers_of_rows_share_few_kernels() -> None:
    """Every number of rows is a kernel that oneDNN compiles and keeps, so they are rounded up."""
    assert len({rows_filled_up(rows, 1, ROUNDING) for rows in range(1, 513)}) <= 33
    assert all(rows <= rows_filled_up(rows, 2, ROUNDING) < rows + 32 for rows in range(1, 513))
