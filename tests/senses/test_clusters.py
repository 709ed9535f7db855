"""Groups that are there are found, those that are not are not."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme.encoding import unit
from polyseme.senses.clusters import find_groups, modularity


def blobs(sizes: list[int], distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of vectors in clouds around directions that are far from each other, and which cloud each is of."""
    random = np.random.default_rng(seed)
    centres = distance * np.eye(len(sizes), 20)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    units = unit((centres[truth] + random.normal(size=(len(truth), 20)) * 0.5).astype(np.float32))
    return units @ units.T, truth


@pytest.mark.parametrize("sizes", [[30, 20], [40, 25, 10], [20, 15, 12, 9]])
def test_clouds_that_are_apart_are_found_and_numbered_by_size(sizes: list[int]) -> None:
    similarity, truth = blobs(sizes, 12.0)
    np.testing.assert_array_equal(find_groups(similarity), truth)


def test_one_cloud_is_one_group() -> None:
    similarity, _ = blobs([80], 12.0)
    assert set(find_groups(similarity)) == {0}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_are_one_group(count: int) -> None:
    similarity, _ = blobs([count], 1.0)
    assert find_groups(similarity).tolist() == [0] * count


@pytest.mark.parametrize(("alike", "count"), [(0.4, 3), (0.55, 2)])
def test_a_further_group_has_to_add_modularity(alike: float, count: int) -> None:
    """Three groups have more modularity than two in both cases, by 0.051 and by 0.014."""
    between = np.array([[1, 0.2, 0.2], [0.2, 1, alike], [0.2, alike, 1]], np.float32)
    truth = np.repeat([0, 1, 2], [14, 13, 13])
    assert len(set(find_groups(between[truth][:, truth]).tolist())) == count


def test_equal_uses_are_one_group() -> None:
    assert set(find_groups(np.ones((20, 20), dtype=np.float32))) == {0}


def test_same_similarities_same_groups() -> None:
    similarity, _ = blobs([20, 20, 20], 2.0)
    np.testing.assert_array_equal(find_groups(similarity), find_groups(similarity.copy()))


def test_modularity_is_that_of_its_definition() -> None:
    similarity, labels = blobs([5, 4, 6], 1.5)
    edges = np.maximum(similarity, 0).astype(np.float64)
    total, degrees = edges.sum(), edges.sum(axis=1)
    pairs = [(i, j) for i in range(15) for j in range(15) if labels[i] == labels[j]]
    expected = sum(edges[i, j] - degrees[i] * degrees[j] / total for i, j in pairs) / total
    assert modularity(edges, labels) == pytest.approx(expected, rel=1e-6)
