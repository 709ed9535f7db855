"""The speed of the engine, with its kernel, without it and with fewer bits, compared with the earlier PyTorch engine.

    python benchmarks/engine_speed.py [--models compact small] [--repeats 3] [--before COMMIT]

Each contestant is a separate process on one core, and they take turns, so that other work on the machine affects all
of them; the figure is CPU time. The earlier engine is that of a commit of this repository, checked out beside the other
things that benchmarks keep. Sentences are from WikiText-2, in natural order; all tokens are already cached.

Besides speed, it measures how close the bundled model's vectors with fewer bits are to those in float32. Results:
results/engine_speed.json, from which the tables in docs/engine.md are written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from embed import SIZES, WIKITEXT, Worker, make_model, processor, read_sentences
from embed_peers import CACHE
from pages import fill_in, table

HERE = Path(__file__).parent
RESULTS = HERE / "results/engine_speed.json"
#: The last commit with the engine on PyTorch.
BEFORE = "7d4ffb5"
#: Sentences per call → sentences per turn: the rate of single sentences does not depend on their number.
CALLS = {64: 512, 4: 256, 1: 96}
#: Trained weights, to see what fewer bits do to vectors; for speed, random ones are enough.
TRAINED = "en"
#: Divisor of the number of sentences, for slow models.
SLOW = {"original": 8}


@dataclass(frozen=True)
class Contestant:
    """An engine: its commit, its kernel and its precision."""

    name: str
    kernel: str = ""  #: POLYSEME_KERNEL
    precision: str | None = None  #: None: the earlier engine


CONTESTANTS = (
    Contestant("PyTorch, before"),
    Contestant("float32", precision="float32"),
    Contestant("float16", precision="float16"),
    Contestant("int8", precision="int8"),
    Contestant("float32, AVX2", "avx2", "float32"),
    Contestant("int8, AVX2", "avx2", "int8"),
    Contestant("float32, numpy", "off", "float32"),
)


def worker_of(contestant: Contestant, model: str, before: Path) -> Worker:
    """Its process: sentences in, CPU seconds out."""
    source = before if contestant.precision is None else HERE.parent
    command = [sys.executable, str(HERE / "engine_worker.py"), model, contestant.precision or ""]
    environment = {"PYTHONPATH": str(source / "src"), "POLYSEME_KERNEL": contestant.kernel, "OMP_NUM_THREADS": "1"}
    return Worker(f"engine {contestant.name}", command, environment)


def check_out(commit: str) -> Path:
    """The repository at an earlier commit, in its own folder."""
    folder = CACHE / f"polyseme-{commit}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(HERE.parent), str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", "--detach", commit], check=True)
    return folder


def measure(model: str, sentences: list[list[str]], repeats: int, before: Path) -> dict[str, Any]:
    """Tokens per second of every contestant, for every size of call: the median of the repeats."""
    rates: dict[str, dict[int, list[float]]] = {one.name: {call: [] for call in CALLS} for one in CONTESTANTS}
    with ExitStack() as stack:
        workers = {}
        for one in CONTESTANTS:
            workers[one.name] = worker_of(one, str(make_model(model)), before)
            stack.callback(workers[one.name].close)
        for _ in range(repeats):
            for call, count in CALLS.items():
                text = sentences[: max(call, count // SLOW.get(model, 1))]
                for one in CONTESTANTS:
                    answer = workers[one.name].ask(sentences=text, call=call)
                    rates[one.name][call].append(sum(map(len, text)) / answer["cpu_seconds"])
        engines = {name: worker.start["engine"] for name, worker in workers.items()}
    return {
        "model": model,
        "engines": engines,
        "tokens_per_second": {
            name: {str(call): round(median(all)) for call, all in by.items()} for name, by in rates.items()
        },
        "turns": {
            name: {str(call): [round(rate) for rate in all] for call, all in by.items()} for name, by in rates.items()
        },
    }


def agreement(sentences: list[list[str]]) -> dict[str, dict[str, float]]:
    """Cosines between the LSTM layers' vectors and those in float32: mean and first percentile."""
    from polyseme.engine.engine import Engine
    from polyseme.formats.detect import load

    stored = load(TRAINED)
    full = np.concatenate(Engine(stored).encode(sentences), axis=1)[1:]  # [L, N, W]
    found = {}
    for precision in ("float16", "int8"):
        fewer = np.concatenate(Engine(stored, precision=precision).encode(sentences), axis=1)[1:]
        norms = np.linalg.norm(full, axis=2) * np.linalg.norm(fewer, axis=2)
        cosines = (full * fewer).sum(axis=2) / norms
        found[precision] = {"mean": float(cosines.mean()), "first_percentile": float(np.percentile(cosines, 1))}
    return found


def write_page(whole: dict[str, Any]) -> None:
    """The tables of docs/engine.md."""
    speed = []
    for result in whole["results"]:
        rates = result["tokens_per_second"]
        base = rates[CONTESTANTS[0].name]
        for name, by in rates.items():
            cells = [f"{rate:,} ({rate / base[call]:.2f}×)" for call, rate in by.items()]
            speed.append([result["model"], name, *cells])
    about = f"{whole['machine']['processor']}, one core, CPU time, medians; all words already in the cache; "
    about += f"before: commit {whole['before']}."
    head = ["model", "engine", *(f"{call} a call" for call in CALLS)]
    fill_in(
        "engine.md",
        "speed",
        f"{about} Tokens per second, and in brackets the ratio to the earlier engine:\n\n{table(head, speed)}",
    )
    near = [
        [precision, f"{cosines['mean']:.6f}", f"{cosines['first_percentile']:.6f}"]
        for precision, cosines in whole["agreement"].items()
    ]
    head = ["precision", "mean cosine", "first percentile"]
    fill_in("engine.md", "agreement", f"Vectors of `{TRAINED}`, LSTM layers, beside float32:\n\n{table(head, near)}")


def shown(result: dict[str, Any]) -> str:
    """Tokens per second, and the ratio to the earlier engine."""
    rates = result["tokens_per_second"]
    base = rates[CONTESTANTS[0].name]
    lines = [f"{result['model']:22}" + "".join(f"{f'{call} a call':>18}" for call in CALLS)]
    for name, by in rates.items():
        cells = (f"{rate:,} ({rate / base[call]:.2f}×)" for call, rate in by.items())
        lines.append(f"{name:22}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The engine compared with the PyTorch engine that it replaced.")
    parser.add_argument("--models", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT")
    options = parser.parse_args()
    text, before = read_sentences(WIKITEXT, max(CALLS.values())), check_out(options.before)
    begun, results = time.time(), []
    for model in options.models:
        results.append(measure(model, text, options.repeats, before))
        print(shown(results[-1]), end="\n\n", flush=True)
    machine = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    whole = {
        "before": options.before,
        "machine": machine,
        "seconds": round(time.time() - begun),
        "agreement": agreement(text[:256]),
        "results": results,
    }
    RESULTS.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
    print(f"results: {RESULTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
