"""Roles as tags: there and back, and the best allowed tags against all there are."""

from __future__ import annotations

from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.tasks.role_tags import best_tags, count_tags, spans_to_tags, tags_to_spans
from polyseme.tasks.srl_data import RoleSpan

ROLES = ["V", "A0"]


def is_allowed(tags: tuple[int, ...]) -> bool:
    """Every I (2, 4) stands behind its B (1, 3) or itself."""
    return all(tag not in (2, 4) or (place and tags[place - 1] in (tag - 1, tag)) for place, tag in enumerate(tags))


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_the_best_tags_are_the_best_of_all_allowed_ones(seed: int, lengths: list[int]) -> None:
    torch.manual_seed(seed)
    scores = torch.randn(len(lengths), max(lengths), count_tags(ROLES))
    for found, score, length in zip(best_tags(scores, torch.tensor(lengths)), scores, lengths, strict=True):
        paths = [tags for tags in product(range(5), repeat=length) if is_allowed(tags)]
        totals = [sum(float(score[place, tag]) for place, tag in enumerate(tags)) for tags in paths]
        assert tuple(found) == paths[totals.index(max(totals))]


@given(st.lists(st.sampled_from([0, 1, 3]), max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_allowed_tags_are_the_tags_of_their_spans(drawn: list[int], goes_on: list[bool]) -> None:
    tags: list[int] = []
    for tag, on in zip(drawn, goes_on, strict=False):
        before = tags[-1] if tags else 0
        tags.append(before + before % 2 if on and before else tag)
    assert is_allowed(tuple(tags))
    assert spans_to_tags(tags_to_spans(tags, ROLES), ROLES, len(tags)) == tags


def test_by_hand() -> None:
    spans = (RoleSpan(0, 2, "A0"), RoleSpan(2, 3, "V"), RoleSpan(3, 4, "A0"))
    assert spans_to_tags(spans, ROLES, 5) == [3, 4, 1, 3, 0]
    assert tags_to_spans([3, 4, 1, 3, 0], ROLES) == spans


def test_a_role_that_training_did_not_meet_is_left_out() -> None:
    assert spans_to_tags([RoleSpan(0, 2, "A9"), RoleSpan(2, 3, "V")], ROLES, 3) == [0, 0, 1]


def test_sentences_without_tokens_have_no_tags() -> None:
    assert best_tags(torch.zeros(2, 0, 5), torch.tensor([0, 0])) == [[], []]
