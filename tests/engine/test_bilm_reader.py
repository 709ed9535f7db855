"""Every position of every sentence has one slot, and the active set only shrinks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyseme.engine.bilm_reader import FEWEST_SENTENCES, MOST_POSITIONS, MOST_SENTENCES, Batch, plan_batches

LENGTHS = st.lists(st.integers(2, 90), min_size=1, max_size=300)


def test_the_example_in_the_first_lines() -> None:
    batch = Batch([0, 1, 2], [4, 2, 1])
    forward, backward = batch.places(backward=False), batch.places(backward=True)
    assert "".join("abcdefg"[place] for place in forward) == "aegbfcd"
    assert "".join("abcdefg"[place] for place in backward) == "dfgceba"
    assert batch.active() == [3, 2, 1, 1]


@given(LENGTHS)
def test_every_sentence_is_in_one_batch_with_its_length(lengths: list[int]) -> None:
    batches = plan_batches(lengths)
    planned = [pair for batch in batches for pair in zip(batch.sentences, batch.lengths, strict=True)]
    assert sorted(planned) == list(enumerate(lengths))


@given(LENGTHS)
def test_batches_are_bounded_and_run_from_long_to_short(lengths: list[int]) -> None:
    batches = plan_batches(lengths)
    assert [n for batch in batches for n in batch.lengths] == sorted(lengths, reverse=True)
    assert all(len(batch.sentences) <= MOST_SENTENCES and batch.positions <= MOST_POSITIONS for batch in batches)


def test_a_sentence_beyond_the_bound_gets_a_batch_of_its_own() -> None:
    batches = plan_batches([3, 5 * MOST_POSITIONS, 4])
    assert [batch.sentences for batch in batches] == [[1], [2, 0]]


def test_no_sentences_no_batches() -> None:
    assert plan_batches([]) == []


@given(LENGTHS)
def test_slots_hold_each_position_once_in_reading_order(lengths: list[int]) -> None:
    batch = plan_batches(lengths)[0]
    forward, backward = batch.places(backward=False), batch.places(backward=True)
    starts = np.cumsum(batch.lengths) - batch.lengths
    slot = 0
    for step, active in enumerate(batch.active()):
        for row in range(active):
            assert forward[slot] == starts[row] + step
            assert backward[slot] == starts[row] + batch.lengths[row] - 1 - step
            slot += 1
    assert sorted(forward) == sorted(backward) == list(range(batch.positions))


@given(LENGTHS)
def test_kept_positions_have_rows_in_order(lengths: list[int]) -> None:
    batch = plan_batches(lengths)[0]
    targets = batch.targets(keep_boundaries=False)
    ends = np.cumsum(batch.lengths)
    boundaries = {*(ends - 1).tolist(), *(ends - batch.lengths).tolist()}
    assert {int(targets[place]) for place in boundaries} == {-1}
    kept = [int(target) for place, target in enumerate(targets) if place not in boundaries]
    assert kept == list(range(batch.positions - 2 * len(batch.sentences)))


def test_kept_boundaries_have_rows_of_their_own() -> None:
    assert Batch([0, 1], [4, 2]).targets(keep_boundaries=True).tolist() == [0, 1, 2, 3, 4, 5]


@given(LENGTHS, st.integers(1, 40))
def test_there_is_a_batch_for_every_thread_unless_batches_get_too_small(lengths: list[int], parts: int) -> None:
    batches = plan_batches(lengths, parts)
    assert len(batches) >= min(parts, len(lengths) // FEWEST_SENTENCES) // 2
    assert all(len(batch.sentences) >= min(FEWEST_SENTENCES, len(lengths)) for batch in batches[:-1])
