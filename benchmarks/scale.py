"""What jobs of any size take: words per second and core, bytes per word, the serial part, what trainers send.

    python benchmarks/scale.py [--model en] [--words 60000] [--text FILE]

Jobs run with one thread, in separate processes that take turns, by CPU time. The tables in docs/scale.md follow from
these figures: seconds and bytes for a billion words and a trillion, projections for more cores, the simulated clusters
of cluster_simulation.py, and how well training over a network scales. Projections are marked as such.

Results: results/scale.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from cluster_simulation import Cluster, shares_table
from embed import processor
from embed_job import SHARD, write_tokens
from pages import fill_in, table

HERE = Path(__file__).parent
RESULTS = HERE / "results/scale.json"
REPEATS = 2
#: What is written → the options for it.
OUTPUTS: dict[str, dict[str, Any]] = {
    "all layers": {"layers": "all"},
    "mean of the layers": {},
    "mean of the layers, float16": {"dtype": "float16"},
    "one vector a document": {"pool": "mean"},
    "three words only": {"words": ("present", "bank", "line")},
}
MEAN = "mean of the layers"
CORES = (1, 2, 4, 8, 16)
BILLION, TRILLION = 10**9, 10**12
NETWORKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8}
MACHINES = (1, 2, 4, 8, 16)


def run_turn(model: str, text: str, title: str, precision: str) -> None:
    """Run one job in this process, with one thread; prints the CPU seconds of its parts, and bytes."""
    from polyseme.elmo import Elmo
    from polyseme.embed.assembly import assemble
    from polyseme.embed.description import Options, Shard, survey
    from polyseme.embed.job import embed_files
    from polyseme.engine.pool import Pool

    elmo = Elmo.from_pretrained(model, lang="whitespace", threads=1, precision=precision)  # type: ignore[arg-type]
    elmo.encode_tokens([["A", "first", "call", "."]])
    kernel, run = [0.0], Pool.run

    def timed(pool: Any, *args: Any) -> None:
        begun = time.thread_time()
        run(pool, *args)
        kernel[0] += time.thread_time() - begun

    Pool.run = timed  # type: ignore[method-assign,assignment]
    options = Options(**OUTPUTS[title])
    with tempfile.TemporaryDirectory() as folder:
        out, begun = Path(folder, "out.parquet"), time.process_time()
        survey([text], options)
        reading = time.process_time() - begun
        for index in range(2):
            embed_files([text], out, elmo, options, shard=Shard(index, 2))
        before_merge = time.process_time()
        assemble(out)
        ended = time.process_time()
        size = out.stat().st_size
    print(
        json.dumps(
            {
                "reading": reading,
                "kernel": kernel[0],
                "merging": ended - before_merge,
                # two shares survey and read all of the input once each, a job of one process does so only once
                "total": ended - begun - 3 * reading,
                "bytes": size,
            }
        )
    )


def measure_jobs(model: str, text: Path) -> dict[str, dict[str, float]]:
    """CPU seconds and bytes per word, by what is written; medians of the turns."""
    kinds = [(title, "float32") for title in OUTPUTS] + [(MEAN, "int8")]
    turns: dict[tuple[str, str], list[dict[str, float]]] = {kind: [] for kind in kinds}
    words = len(text.read_text(encoding="utf-8").split())
    for _ in range(REPEATS):
        for title, precision in kinds:
            command = [sys.executable, __file__, "--turn", model, str(text), title, precision]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            turns[title, precision].append(json.loads(done.stdout.splitlines()[-1]))
            print(title, precision, turns[title, precision][-1], file=sys.stderr, flush=True)
    return {
        title if precision == "float32" else f"{title}, weights in int8": {
            key: median(turn[key] for turn in all_of_them) / words for key in all_of_them[0]
        }
        for (title, precision), all_of_them in turns.items()
    }


def measure_training(text: Path) -> dict[str, float]:
    """What a process sends in a step of the recipe compact, and how long the step takes on one core."""
    from itertools import islice

    import torch

    from polyseme.pretrain.corpus.corpus import open_corpus
    from polyseme.pretrain.corpus.preparation import prepare
    from polyseme.pretrain.recipe import load_recipe
    from polyseme.pretrain.training.batches import TypeTable
    from polyseme.pretrain.training.build import new_model
    from polyseme.pretrain.training.distributed import Processes
    from polyseme.pretrain.training.parallel import one_after_the_other
    from polyseme.pretrain.training.sampler import new_sampler
    from polyseme.pretrain.training.trainer import Training, new_optimizer, step_softmax, train_step

    sent = list[int]()

    class Counting(Processes):
        """A single process that records what would be summed over all processes."""

        def add_up(self, tensors: Any) -> None:
            sent.append(sum(tensor.numel() * tensor.element_size() for tensor in tensors))

    torch.set_num_threads(1)
    recipe, seconds = load_recipe("compact", []), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        prepare([text], Path(folder) / "corpus", lang="whitespace", vocabulary_size=50_000)
        corpus = open_corpus(Path(folder) / "corpus")
        model, indexer = new_model(recipe, corpus, seed=0)
        table = TypeTable.of_corpus(corpus, indexer)
        sampler = new_sampler(recipe.text, corpus, table, corpus.meta.sentences, directions=2, seed=0)
        training = Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler, 0, Counting())
        for batch in islice(iter(sampler), 6):
            begun = time.process_time()
            train_step(training, [batch], step_softmax(training, [batch]), one_after_the_other)
            seconds.append(time.process_time() - begun)
    return {
        "tokens": recipe.text.tokens,
        "bytes": median(sent),
        "seconds": median(seconds[1:]),  # the first step allocates memory
    }


def duration(seconds: float) -> str:
    for unit, size in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} seconds"


def volume(count: float) -> str:
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,.0f} bytes"


def job_table(jobs: dict[str, dict[str, float]]) -> str:
    rows = [
        [
            title,
            f"{1 / job['total']:,.0f}",
            f"{job['bytes']:,.0f}",
            *(f"{duration(count * job['total'])}, {volume(count * job['bytes'])}" for count in (BILLION, TRILLION)),
        ]
        for title, job in jobs.items()
    ]
    head = [
        "what is written",
        "words/s per core",
        "bytes per word",
        "a billion words, one core",
        "a trillion, one core",
    ]
    return table(head, rows)


def cores_table(job: dict[str, float]) -> str:
    """Amdahl's law with the measured shares; nothing was measured beyond the available cores."""
    rest = job["total"] - job["kernel"]
    own = job["total"] - job["reading"] - job["merging"]
    rows = []
    for cores in CORES:
        threads, processes = rest + job["kernel"] / cores, job["reading"] + job["merging"] + own / cores
        rows.append([cores, f"{1 / threads:,.0f}", f"{1 / (processes if cores > 1 else job['total']):,.0f}"])
    return table(["cores", "one process, words/s", "a process for each core, words/s"], rows)


def training_table(training: dict[str, float]) -> str:
    """Seconds per step: its share of the work, and a ring all-reduce that sends every byte about twice."""
    rows = []
    for machines in MACHINES:
        work, row = training["seconds"] / (2 * machines), [str(machines)]
        for speed in NETWORKS.values():
            step = work + 2 * (machines - 1) / machines * training["bytes"] / speed
            row.append(f"{training['tokens'] / step:,.0f} ({training['seconds'] / 2 / step / machines:.0%})")
        rows.append(row)
    return table(["machines of two cores", *(f"{name}, tokens/s" for name in NETWORKS)], rows)


def write_page(result: dict[str, Any]) -> None:
    jobs, training = result["jobs"], result["training"]
    mean = jobs[MEAN]
    fill_in("scale.md", "jobs", f"{about(result)}\n\n{job_table(jobs)}")
    shared = (
        f"A word takes {1e6 * mean['total']:.1f} µs of CPU time. The kernel, which uses all threads of a process, "
        f"takes {1e6 * mean['kernel']:.1f} of them. Reading the input takes {1e6 * mean['reading']:.2f} and assembling "
        f"the file {1e6 * mean['merging']:.2f}; several processes cannot share these two."
    )
    fill_in("scale.md", "cores", f"{shared}\n\n{cores_table(mean)}")
    fill_in("scale.md", "simulation", shares_table(mean["total"], mean["reading"], Cluster()))
    sent = (
        f"A step of `compact` reads {training['tokens']:,.0f} tokens in {training['seconds']:.2f} CPU seconds of one "
        f"core, and each process exchanges {volume(training['bytes'])} of gradients with the others."
    )
    fill_in("scale.md", "training", f"{sent}\n\n{training_table(training)}")


def about(result: dict[str, Any]) -> str:
    return (
        f"Model `{result['model']}`, {result['words']:,} words of {result['text']}, Parquet, one thread, CPU time, "
        f"medians of {REPEATS}; {result['machine']['processor']}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What jobs of any size take.")
    parser.add_argument("--model", default="en")
    parser.add_argument("--words", type=int, default=60_000)
    parser.add_argument("--text", type=Path, default=SHARD)
    parser.add_argument("--turn", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        run_turn(*options.turn)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_tokens(options.text, text, options.words)
        result = {
            "model": options.model,
            "text": options.text.name,
            "words": len(text.read_text(encoding="utf-8").split()),
            "machine": {"processor": processor(), "cores": os.cpu_count()},
            "jobs": measure_jobs(options.model, text),
            "training": measure_training(text),
        }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page(result)


if __name__ == "__main__":
    main()
