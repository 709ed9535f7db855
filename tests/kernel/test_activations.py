"""σ and tanh of the kernel, against float64: everywhere as exact as torch's sigmoid."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from helpers.kernel_libraries import every_library
from polyseme.kernel.library import Library

#: Every exponent, both signs, many mantissas; and where the functions bend.
POINTS = np.concatenate(
    [
        np.linspace(-100, 100, 400_001),
        np.linspace(-1, 1, 400_001),
        *(sign * np.geomspace(1e-38, 1e38, 100_001) for sign in (-1, 1)),
        [0.0, -0.0, np.inf, -np.inf],
    ]
).astype(np.float32)


def run(library: Library, name: str, x: Any) -> Any:
    y = x.copy()
    library.function(name, None, ctypes.c_void_p, ctypes.c_int64)(y.ctypes.data, len(y))
    return y


def errors(found: Any, exact: Any) -> tuple[float, float]:
    """The largest absolute error, and the largest in units in the last place; tiny numbers count as tiny."""
    spacing = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32))
    off = np.abs(found.astype(np.float64) - exact)
    return float(off.max()), float((off / spacing).max())


@pytest.mark.parametrize("library", every_library())
@pytest.mark.parametrize(
    ("name", "exact"), [("polyseme_logistic", lambda x: 1 / (1 + np.exp(-x))), ("polyseme_tanh", np.tanh)]
)
def test_both_are_as_exact_as_torchs_sigmoid(library: Library, name: str, exact: Any) -> None:
    points = POINTS[np.abs(POINTS) < 80]  # beyond, σ leaves the normal numbers
    absolute, units = errors(run(library, name, points), exact(points.astype(np.float64)))
    assert absolute < 1.5 * 2**-24 and units < 2.3  # torch 2.13, sigmoid with AVX-512: 1.474 and 2.208


@pytest.mark.parametrize("library", every_library())
def test_the_ends(library: Library) -> None:
    ends = np.array([-np.inf, -1e30, -200, 200, 1e30, np.inf, np.nan, 0.0], np.float32)
    sigma, tanh = run(library, "polyseme_logistic", ends), run(library, "polyseme_tanh", ends)
    np.testing.assert_allclose(sigma, [0, 0, 0, 1, 1, 1, np.nan, 0.5], atol=1e-37)
    np.testing.assert_array_equal(tanh, [-1, -1, -1, 1, 1, 1, np.nan, 0])


@pytest.mark.parametrize("library", every_library())
def test_a_number_has_one_result_wherever_it_stands(library: Library) -> None:
    some = POINTS[::777]
    whole = run(library, "polyseme_tanh", some)
    for begin, count in [(0, 1), (3, 5), (17, 16), (100, 33)]:
        part = run(library, "polyseme_tanh", some[begin : begin + count])
        np.testing.assert_array_equal(part, whole[begin : begin + count])
