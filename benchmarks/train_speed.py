"""The speed of training `compact`, compared with an earlier prototype: tokens per second on one core and on two.

    python benchmarks/train_speed.py [--steps 4] [--rounds 4] [--before COMMIT]

Each version is a separate process with the same text, batches of 64 × 20 positions and 2,048 negatives; the code of
the prototype is checked out beside the other things that benchmarks keep. Time is CPU time on one core and wall time on
two. Results: results/train_speed.json, and a table in docs/training.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results/train_speed.json"
#: Tokens of training text: enough for all batches.
TOKENS, WORDS = 150_000, 20_000


def work(text: str) -> None:
    """The process of one version: reads numbers of steps and cores, and answers with seconds."""
    import pretrain

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pretrain.prepare([text], Path(folder) / "corpus", lang="whitespace", vocabulary_size=WORDS)
        corpus = pretrain.open_corpus(Path(folder) / "corpus")
        runners = {1: pretrain.one_after_the_other, 2: stack.enter_context(pretrain.side_by_side())}
        trainers = {cores: pretrain.trainer(corpus, "compact", 2048, cores, run) for cores, run in runners.items()}
        batches = pretrain.batches_of(corpus, 8)
        print("ready", flush=True)
        for line in sys.stdin:
            steps, cores = map(int, line.split())
            pretrain.torch.set_num_threads(1)
            begun, cpu = time.perf_counter(), time.process_time()
            for number in range(steps):
                trainers[cores].step(batches[number % len(batches)])
            print(json.dumps({"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu}), flush=True)


class Trainer:
    """A version's process."""

    def __init__(self, checkout: Path, text: Path) -> None:
        paths = os.pathsep.join([str(checkout / "src"), str(checkout / "benchmarks")])
        code = f"import sys; sys.path.append({str(HERE)!r}); import train_speed; train_speed.work({str(text)!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
        assert self.process.stdin and self.process.stdout
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("a trainer has ended; its last words stand above")

    def ask(self, steps: int, cores: int) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{steps} {cores}\n")
        self.process.stdin.flush()
        answer: dict[str, float] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def measure(before: Path, text: Path, steps: int, rounds: int) -> dict[str, Any]:
    """Tokens per second in each round, by version and cores."""
    rates: dict[str, dict[str, list[float]]] = {"before": {"1": [], "2": []}, "now": {"1": [], "2": []}}
    with ExitStack() as stack:
        trainers = {}
        for name, checkout in (("before", before), ("now", HERE.parent)):
            trainers[name] = Trainer(checkout, text)
            stack.callback(trainers[name].close)
            for cores in (1, 2):
                trainers[name].ask(1, cores)  # the first step allocates memory
        for _ in range(rounds):
            for cores in (1, 2):
                for name, trainer in trainers.items():
                    seconds = trainer.ask(steps, cores)["cpu" if cores == 1 else "wall"]
                    rates[name][str(cores)].append(steps * 64 * 20 / seconds)
                    print(f"{name}, {cores}: {rates[name][str(cores)][-1]:,.0f} tokens/s", file=sys.stderr, flush=True)
    return rates


def write_page(result: dict[str, Any]) -> None:
    from pages import fill_in, table

    rows = []
    for cores in ("1", "2"):
        before, now = (median(result["rates"][name][cores]) for name in ("before", "now"))
        ratios = [b / a for a, b in zip(*(result["rates"][name][cores] for name in ("before", "now")), strict=True)]
        rows.append([cores, f"{before:,.0f}", f"{now:,.0f}", f"{median(ratios):.2f}×"])
    head = ["cores", "earlier prototype, tokens/s", "now, tokens/s", "ratio, median of the rounds"]
    fill_in("training.md", "versions", table(head, rows))


def main() -> None:
    from embed_job import SHARD, write_tokens
    from engine_speed import BEFORE, check_out

    parser = argparse.ArgumentParser(description="Training compared with an earlier prototype.")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_tokens(SHARD, text, TOKENS)
        rates = measure(check_out(options.before), text, options.steps, options.rounds)
    result = {"before": options.before, "steps": options.steps, "rates": rates}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page(result)


if __name__ == "__main__":
    main()
