"""Every position of every sentence has one slot, and the active set only shrinks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyseme.engine.plan import BATCH_POSITIONS, BATCH_SENTENCES, CHUNK_NUMBERS, CHUNK_SLOTS, Batch, plan_batches

LENGTHS = st.lists(st.integers(2, 90), min_size=1, max_size=300)


def test_the_example_in_the_first_lines() -> None:
    batch = Batch([0, 1, 2], [4, 2, 1])
    forward, backward = batch.places()
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
    assert all(len(batch.sentences) <= BATCH_SENTENCES and batch.positions <= BATCH_POSITIONS for batch in batches)


def test_a_sentence_beyond_the_bound_gets_a_batch_of_its_own() -> None:
    batches = plan_batches([3, 5 * BATCH_POSITIONS, 4])
    assert [batch.sentences for batch in batches] == [[1], [2, 0]]


def test_no_sentences_no_batches() -> None:
    assert plan_batches([]) == []


@given(LENGTHS)
def test_slots_hold_each_position_once_in_reading_order(lengths: list[int]) -> None:
    batch = plan_batches(lengths)[0]
    forward, backward = batch.places()
    starts = np.cumsum(batch.lengths) - batch.lengths
    slot = 0
    for step, active in enumerate(batch.active()):
        for row in range(active):
            assert forward[slot] == starts[row] + step
            assert backward[slot] == starts[row] + batch.lengths[row] - 1 - step
            slot += 1
    assert sorted(forward) == sorted(backward) == list(range(batch.positions))


@given(LENGTHS)
def test_chunks_cover_the_slots_in_order_and_are_bounded(lengths: list[int]) -> None:
    batch = plan_batches(lengths)[0]
    chunks = list(batch.chunks(width=100))
    assert [count for chunk in chunks for count in chunk.active] == batch.active()
    assert [chunk.start for chunk in chunks] == [0, *(chunk.stop for chunk in chunks[:-1])]
    assert chunks[-1].stop == batch.positions
    for chunk in chunks:
        assert chunk.stop - chunk.start == sum(chunk.active)
        assert sum(chunk.active) <= CHUNK_SLOTS


def test_chunks_of_wide_gates_have_fewer_slots_but_at_least_a_step() -> None:
    batch = Batch(list(range(40)), [9] * 40)
    assert [chunk.active for chunk in batch.chunks(width=CHUNK_NUMBERS // 100)] == [[40, 40]] * 4 + [[40]]
    assert [chunk.active for chunk in batch.chunks(width=CHUNK_NUMBERS // 10)] == [[40]] * 9


@given(LENGTHS)
def test_tokens_go_to_rows_in_order_and_boundaries_behind_them(lengths: list[int]) -> None:
    batch = plan_batches(lengths)[0]
    targets, sizes = batch.targets(keep_boundaries=False)
    assert sizes == [length - 2 for length in batch.lengths]
    ends = np.cumsum(batch.lengths)
    boundaries = {*(ends - 1), *(ends - batch.lengths)}
    assert [int(t) for place, t in enumerate(targets) if place not in boundaries] == list(range(sum(sizes)))
    assert {int(targets[place]) for place in boundaries} == {sum(sizes)}


def test_kept_boundaries_have_rows_of_their_own() -> None:
    targets, sizes = Batch([0, 1], [4, 2]).targets(keep_boundaries=True)
    assert targets.tolist() == [0, 1, 2, 3, 4, 5]
    assert sizes == [4, 2]


def test_halves_of_a_batch_are_its_sentences() -> None:
    first, second = Batch([4, 1, 3], [9, 5, 2]).halves()
    assert (first.sentences, first.lengths, second.sentences, second.lengths) == ([4], [9], [1, 3], [5, 2])
