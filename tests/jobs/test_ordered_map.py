"""map_in_order: like map, and it neither hangs nor hides what happens in a worker."""

from __future__ import annotations

import math
import os
import signal
import time
from itertools import count, islice

import pytest

from helpers.command_line import signals
from polyseme.errors import JobError
from polyseme.jobs.ordered_map import map_in_order


def test_results_come_in_the_order_of_the_items() -> None:
    naps = [0.3, 0.0, 0.2, 0.0, 0.1]  # the first worker is the slowest
    assert list(map_in_order(_nap, naps, workers=2)) == naps


@pytest.mark.parametrize("items", [[], [4.0]])
def test_less_than_two_items_need_no_process(items: list[float]) -> None:
    assert list(map_in_order(lambda item: (item, os.getpid()), items, workers=8)) == [(x, os.getpid()) for x in items]


def test_an_error_of_a_worker_is_raised_here() -> None:
    results = map_in_order(math.sqrt, [4.0, 9.0, -1.0, 16.0], workers=2)
    assert [next(results), next(results)] == [2.0, 3.0]
    with pytest.raises(ValueError):
        next(results)


def test_a_worker_that_dies_ends_the_job_with_a_sentence() -> None:
    with pytest.raises(JobError, match="a worker process ended with exit code 3"):
        list(map_in_order(os._exit, [3, 3, 3], workers=2))


def test_items_are_taken_only_as_workers_need_them() -> None:
    taken = count()
    results = map_in_order(math.sqrt, taken, workers=2)
    assert list(islice(results, 3)) == [0.0, 1.0, math.sqrt(2)]
    results.close()
    assert next(taken) <= 6


@signals
def test_ctrl_c_while_a_worker_starts_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(_InterruptedWhenSent(), [4.0, 9.0], workers=2))


class _InterruptedWhenSent:
    """A function; Ctrl-C is pressed as it goes to a new worker."""

    def __call__(self, item: float) -> float:
        return item

    def __reduce__(self) -> tuple[type[_InterruptedWhenSent], tuple[()]]:
        os.kill(os.getpid(), signal.SIGINT)
        return _InterruptedWhenSent, ()


def _nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds
