"""One plane for all layers: linear, centred in each layer, the same for the same vectors; and one for similarities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.encoding import unit
from polyseme.senses.projection import fit_plane, fit_similarity_plane


def vectors(seed: int, layers: int = 3, count: int = 12, width: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(layers, count, width)).astype(np.float32)


@given(st.integers(0, 999), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_a_mix_lies_at_the_mix_of_its_points(seed: int, weights: list[float]) -> None:
    layers = vectors(seed)
    plane = fit_plane(layers)
    mixed = np.tensordot(weights, layers - plane.means[:, None], axes=1) @ plane.axes
    np.testing.assert_allclose(np.tensordot(weights, plane.place(layers), axes=1), mixed, atol=1e-5)


def test_each_layer_lies_around_the_middle() -> None:
    layers = vectors(1) + np.array([100, -50, 7], dtype=np.float32)[:, None, None]
    np.testing.assert_allclose(fit_plane(layers).place(layers).mean(axis=1), 0, atol=1e-4)


def test_what_is_equal_in_a_layer_is_one_point_there() -> None:
    layers = vectors(2)
    layers[0] = layers[0, 0]
    assert np.abs(fit_plane(layers).place(layers)[0]).max() < 1e-5


def test_the_plane_is_that_of_the_largest_differences() -> None:
    """Two directions with much variance among others with little, turned at random."""
    random = np.random.default_rng(3)
    spread = np.array([10, 5, 0.1, 0.1, 0.1, 0.1])
    turn, _ = np.linalg.qr(random.normal(size=(6, 6)))
    layers = ((random.normal(size=(2, 200, 6)) * spread) @ turn.T).astype(np.float32)
    axes = fit_plane(layers).axes
    assert abs(axes[:, 0] @ turn[:, 0]) == pytest.approx(1, abs=0.01)
    assert abs(axes[:, 1] @ turn[:, 1]) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("count", [1, 2])
def test_few_vectors_have_a_plane_too(count: int) -> None:
    layers = vectors(4, layers=1, count=count)
    assert np.isfinite(fit_plane(layers).place(layers)).all()


def test_similarities_have_the_plane_of_their_vectors() -> None:
    """Cosines are products of unit vectors, so the points are those that principal components give."""
    rows = unit(vectors(5, layers=1)[0])
    expected = fit_plane(rows[None]).place(rows[None])[0]
    found = fit_similarity_plane(rows @ rows.T, expected).place(rows @ rows.T)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_new_use_lies_where_its_vector_would() -> None:
    rows = unit(vectors(6, layers=1)[0])
    plane, of_vectors = fit_plane(rows[None, :10]), rows[:10] @ rows[:10].T
    expected = plane.place(rows[None])[0]
    found = fit_similarity_plane(of_vectors, expected[:10]).place(rows @ rows[:10].T)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_the_plane_of_similarities_is_mirrored_to_lie_near_what_was_shown(signs: tuple[int, int]) -> None:
    rows = unit(vectors(7, layers=1)[0])
    near = fit_similarity_plane(rows @ rows.T, np.zeros((12, 2), np.float32)).place(rows @ rows.T) * signs
    found = fit_similarity_plane(rows @ rows.T, near.astype(np.float32)).place(rows @ rows.T)
    np.testing.assert_allclose(found, near, atol=1e-4)


@pytest.mark.parametrize("similarity", [np.ones((1, 1)), np.ones((4, 4)), np.eye(2), -np.eye(3)])
def test_few_or_equal_uses_have_a_plane_too(similarity: np.ndarray) -> None:
    plane = fit_similarity_plane(similarity, np.zeros((len(similarity), 2), np.float32))
    points = plane.place(similarity)
    assert np.isfinite(points).all()
