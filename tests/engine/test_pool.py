"""Jobs on several threads: all are done, the first error ends them, and N threads are N threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.command_line import PATIENCE
from polyseme.engine import pool
from polyseme.engine.pool import Job, Pool, usable_cores


def counting(done: list[int], number: int) -> Job:
    yield
    done.append(number)


@pytest.mark.parametrize("threads", [1, 2, 7, 40])
@pytest.mark.parametrize("jobs", [0, 1, 2, 100])
def test_every_job_is_done_once(threads: int, jobs: int) -> None:
    done: list[int] = []
    Pool(threads).run([counting(done, number) for number in range(jobs)])
    assert sorted(done) == list(range(jobs))


def test_at_most_so_many_threads_work() -> None:
    seen: set[int] = set()

    def job() -> Job:
        seen.add(threading.get_ident())
        time.sleep(0.002)
        yield

    Pool(8).run([job() for _ in range(60)], most=3)
    assert 1 <= len(seen) <= 3


def test_the_first_error_stops_the_others() -> None:
    begun: list[int] = []

    def endless(number: int) -> Iterator[None]:
        begun.append(number)
        while True:
            time.sleep(0.001)
            yield

    def wrong() -> Iterator[None]:
        yield
        raise ArithmeticError("here")

    with pytest.raises(ArithmeticError, match="here"):
        Pool(4).run([wrong(), *(endless(number) for number in range(50))])
    assert len(begun) <= 4


def test_two_calls_at_once_share_the_threads_and_both_end() -> None:
    shared, done = Pool(3), list[int]()
    calls = [
        threading.Thread(target=shared.run, args=([counting(done, number) for number in range(200)],)) for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join(timeout=PATIENCE)
    assert len(done) == 800


class TestUsableCores:
    @pytest.fixture(autouse=True)
    def _no_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    @pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
    def test_the_cores_that_the_process_may_run_on(self) -> None:
        allowed = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(allowed)})
            assert usable_cores() == 1
        finally:
            os.sched_setaffinity(0, allowed)
        assert 1 <= usable_cores() <= len(allowed)

    @pytest.mark.parametrize(("said", "cores"), [("1", 1), ("3", 3), ("5,2", 5)])
    def test_the_callers_setting(self, said: str, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert usable_cores() == cores

    @pytest.mark.parametrize("said", ["", "0", "many"])
    def test_a_setting_that_says_nothing(self, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
        cores = usable_cores()
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert usable_cores() == cores

    @pytest.mark.parametrize(
        ("files", "cores"),
        [
            ({"cpu.max": "250000 100000\n"}, 3),
            ({"cpu.max": "50000 100000\n"}, 1),
            ({"cpu.max": "max 100000\n"}, 1 << 20),
            ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
            ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1 << 20),
            ({}, 1 << 20),
        ],
    )
    def test_the_share_of_a_container(self, files: dict[str, str], cores: int, tmp_path: Path) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert pool._container_limit(tmp_path) == cores
