"""Candidate spans, pruning and head attention, each against its definition."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from polyseme.tasks.coref.candidates import candidate_spans, distance_buckets, head_vectors, keep_spans


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 5))
def test_candidates_are_all_spans_inside_a_sentence(lengths: list[int], widest: int) -> None:
    starts, lasts = candidate_spans(torch.tensor(lengths), widest)
    expected, first = [], 0
    for length in lengths:
        expected += [(a, b) for a in range(first, first + length) for b in range(a, min(a + widest, first + length))]
        first += length
    assert sorted(zip(starts.tolist(), lasts.tolist(), strict=True)) == sorted(expected)


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted((one, other))
    return a < c <= b < d


@given(st.permutations([(a, b) for a in range(6) for b in range(a, min(a + 4, 6))]), st.integers(0, 12))
def test_pruning_keeps_the_best_that_do_not_cross(spans: list[tuple[int, int]], most: int) -> None:
    starts, lasts = [a for a, _ in spans], [b for _, b in spans]
    expected: list[tuple[int, int]] = []
    for span in spans:
        if len(expected) < most and not any(cross(span, other) for other in expected):
            expected.append(span)
    kept = keep_spans(starts, lasts, list(range(len(spans))), most)
    assert [spans[number] for number in kept] == expected


@given(st.integers(0, 2**31), st.floats(0, 60))
def test_heads_are_sums_weighted_by_a_softmax(seed: int, spread: float) -> None:
    """Whatever the range of the scores: a span far from the best token of the document keeps its own weights."""
    torch.manual_seed(seed)
    scores, x = spread * torch.randn(7), torch.randn(7, 3)
    starts, lasts = candidate_spans(torch.tensor([3, 4]), 3)
    found = head_vectors(scores, x, starts, lasts)
    for row, (a, b) in enumerate(zip(starts.tolist(), lasts.tolist(), strict=True)):
        expected = torch.softmax(scores[a : b + 1], dim=0) @ x[a : b + 1]
        assert torch.allclose(found[row], expected, atol=1e-4)


def test_buckets() -> None:
    distances = [1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 1000]
    assert distance_buckets(torch.tensor(distances)).tolist() == [1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]
