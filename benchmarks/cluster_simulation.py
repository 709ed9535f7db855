"""A simulated embed job on 10, 100 and 1,000 workers: into how many shares should it be divided?

Workers take shares one by one. Each share reads all of its job's input, because a share is every n-th document. Some
workers are slow, and any may fail; then its share is started again elsewhere (a folder of `--shard` would resume from
its last part; a Ray share starts again, which is the worse case and the one simulated). With few shares everybody waits
for the last one; with many, reading dominates.

    python benchmarks/cluster_simulation.py          the table, from results/scale.json
"""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pages import table

SHARES_A_WORKER = (1, 2, 4, 8, 16, 32)
WORKERS = (10, 100, 1000)
WORDS_A_WORKER = 100_000_000
#: How the words are divided into jobs, whose shares all workers take.
JOBS = {"one job": None, "jobs of 100 million words": 10**8}
RUNS = 15


@dataclass(frozen=True)
class Workload:
    """The work to do, in measured CPU seconds of one core."""

    words: int
    job: int  #: words per job; each of its shares reads all of them
    seconds_a_word: float
    reading_a_word: float


@dataclass(frozen=True)
class Cluster:
    """How the machines behave (assumed, not measured), with one core each."""

    slow_share: float = 0.05  #: share of slow workers
    slow_factor: float = 3.0  #: how much longer everything takes there
    spread: float = 0.1  #: standard deviation of a share's time, relative to it
    failures_an_hour: float = 0.02  #: per worker: one in two days
    restart_seconds: float = 60.0  #: until a failed worker is back
    start_seconds: float = 2.0  #: to start a worker: Python, the model


def simulate(load: Workload, cluster: Cluster, workers: int, shares: int, seed: int) -> float:
    """Seconds from the start to the last share's end."""
    chance = random.Random(seed)
    pace = [cluster.slow_factor if chance.random() < cluster.slow_share else 1.0 for _ in range(workers)]
    share = load.job * load.reading_a_word + load.words * load.seconds_a_word / shares
    free = [(cluster.start_seconds * pace[worker], worker) for worker in range(workers)]
    heapq.heapify(free)
    waiting, running, end = shares, list[tuple[float, int, bool]](), 0.0
    while waiting or running:
        if waiting and free and (not running or free[0][0] <= running[0][0]):
            now, worker = heapq.heappop(free)
            waiting -= 1
            takes = share * pace[worker] * max(0.5, chance.gauss(1.0, cluster.spread))
            fails = chance.expovariate(cluster.failures_an_hour / 3600)
            heapq.heappush(running, (now + min(takes, fails), worker, fails < takes))
            continue
        now, worker, failed = heapq.heappop(running)
        waiting += failed
        end = max(end, now)
        heapq.heappush(free, (now + (cluster.restart_seconds if failed else 0.0), worker))
    return end


def efficiency(load: Workload, cluster: Cluster, workers: int, shares: int) -> float:
    """Useful core seconds divided by those paid for, the median of several runs."""
    seconds = median(simulate(load, cluster, workers, shares, seed) for seed in range(RUNS))
    return load.words * load.seconds_a_word / (workers * seconds)


def shares_table(seconds_a_word: float, reading_a_word: float, cluster: Cluster) -> str:
    """The useful part of the workers' time, by shares per worker; the best in each row is marked."""
    rows = []
    for title, job in JOBS.items():
        for workers in WORKERS:
            words = WORDS_A_WORKER * workers
            load = Workload(words, job or words, seconds_a_word, reading_a_word)
            found = [efficiency(load, cluster, workers, workers * count) for count in SHARES_A_WORKER]
            cells = [f"**{value:.0%}**" if value == max(found) else f"{value:.0%}" for value in found]
            rows.append([f"{words / 1e9:,.0f} billion words, {title}", f"{workers:,}", *cells])
    return table(["", "workers", *map(str, SHARES_A_WORKER)], rows)


def main() -> None:
    result = json.loads((Path(__file__).parent / "results/scale.json").read_text(encoding="utf-8"))
    job = result["jobs"]["mean of the layers"]
    print(shares_table(job["total"], job["reading"], Cluster()))


if __name__ == "__main__":
    main()
