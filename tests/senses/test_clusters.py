"""Groups that are there are found, those that are not are not."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme.senses.clusters import find_groups, silhouette


def blobs(sizes: list[int], distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Clouds around points that are far from each other, and which cloud each vector is of."""
    random = np.random.default_rng(seed)
    centres = distance * np.eye(len(sizes), 20)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return (centres[truth] + random.normal(size=(len(truth), 20)) * 0.5).astype(np.float32), truth


@pytest.mark.parametrize("sizes", [[30, 20], [40, 25, 10], [20, 15, 12, 9]])
def test_clouds_that_are_apart_are_found_and_numbered_by_size(sizes: list[int]) -> None:
    vectors, truth = blobs(sizes, 12.0)
    np.testing.assert_array_equal(find_groups(vectors), truth)


def test_one_cloud_is_one_group() -> None:
    vectors = np.random.default_rng(0).normal(size=(80, 30)).astype(np.float32)
    assert set(find_groups(vectors)) == {0}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_are_one_group(count: int) -> None:
    vectors, _ = blobs([count], 1.0)
    assert find_groups(vectors).tolist() == [0] * count


def test_equal_vectors_are_one_group() -> None:
    assert set(find_groups(np.ones((20, 4), dtype=np.float32))) == {0}


def test_same_vectors_same_groups() -> None:
    vectors, _ = blobs([20, 20, 20], 2.0)
    np.testing.assert_array_equal(find_groups(vectors), find_groups(vectors.copy()))


def test_the_silhouette_is_that_of_its_definition() -> None:
    vectors, labels = blobs([5, 4, 6], 1.5)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    values = []
    for number, label in enumerate(labels):
        own = [distances[number, j] for j in range(len(labels)) if labels[j] == label and j != number]
        others = [distances[number, labels == other].mean() for other in set(labels) - {label}]
        a, b = np.mean(own), min(others)
        values.append((b - a) / max(a, b))
    assert silhouette(distances, labels) == pytest.approx(np.mean(values), rel=1e-5)
