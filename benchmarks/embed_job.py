"""What the embed job costs beside the engine, and how its memory grows with the input.

    python benchmarks/embed_job.py [--sentences FILE]

The engine alone (`Elmo.stream`, vectors thrown away) and the job (`polyseme embed`, vectors in a file) take turns on
the same tokens. Every turn is a process of its own, so that its peak memory is its own; the clock starts after a first
sentence, when the model is loaded and every module imported. Memory is that of the job on 10,000 and on 1 million
tokens.

Results: results/embed_job.json, and two tables in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from embed import make_model
from embed_worker import peak_mb
from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.embed.description import Options
from polyseme.embed.job import embed_files
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text
from shared_data import DATA

HERE = Path(__file__).parent
RESULTS = HERE / "results/embed_job.json"
SHARD = DATA / "corpora/en/enwiki-core-1.txt.xz"

TOKENS = {"compact": 200_000, "small": 80_000}
REPEATS = 2
MEMORY_TOKENS = (10_000, 1_000_000)
#: (layers, suffix) of the files that are written; None: the engine alone.
OUTPUTS: tuple[tuple[str, str] | None, ...] = (
    None,
    ("average", ".h5"),
    ("average", ".parquet"),
    ("all", ".parquet"),
)


def write_tokens(source: Path, target: Path, tokens: int) -> None:
    """A file of about so many tokens, one sentence a line; the source is read again if it is too short."""
    with target.open("w", encoding="utf-8") as file:
        for document in cycle(read_documents([source])):
            for sentence in split_text(document.text or "", "en"):
                file.write(" ".join(sentence.tokens) + "\n")
                tokens -= len(sentence.tokens)
                if tokens <= 0:
                    return


def turn(model: Path, text: Path, output: tuple[str, str] | None) -> dict[str, Any]:
    """One measured process."""
    command = [sys.executable, __file__, "--turn", str(model), str(text), *(output or ())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_turn(model: str, text: str, *output: str) -> None:
    """What the process does, and what it prints."""
    elmo = Elmo.from_pretrained(model, lang="whitespace")

    def read(source: Path) -> None:
        if output:
            layers, suffix = output
            embed_files([source], source.parent / f"{source.stem}{suffix}", elmo, Options(layers=layers))
        else:
            with source.open(encoding="utf-8") as lines:
                for _ in elmo.stream(lines):
                    pass

    with tempfile.TemporaryDirectory() as folder:
        first, whole = Path(folder) / "first.txt", Path(folder) / "whole.txt"
        first.write_text("A first sentence .\n", encoding="utf-8")
        whole.symlink_to(text)
        read(first)
        begun, cpu = time.perf_counter(), time.process_time()
        read(whole)
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    peak = peak_mb()
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": peak}))


def measure_speed(size: str, source: Path, folder: Path) -> list[dict[str, Any]]:
    """Tokens a second of the engine and of each kind of file, and the share that is left."""
    text = folder / f"{size}.txt"
    write_tokens(source, text, TOKENS[size])
    turns: dict[tuple[str, str] | None, list[dict[str, Any]]] = {output: [] for output in OUTPUTS}
    for repeat in range(REPEATS):
        for output in OUTPUTS:
            turns[output].append(turn(make_model(size), text, output))
            print(f"{size} {output or 'engine'} {repeat + 1} of {REPEATS}: {turns[output][-1]}", file=sys.stderr)
    tokens = len(text.read_text(encoding="utf-8").split())
    medians = {
        output: {key: median(found[key] for found in all_of_them) for key in all_of_them[0]}
        for output, all_of_them in turns.items()
    }
    engine = medians[None]
    return [
        {
            "size": size,
            "output": " ".join(output) if output else "engine",
            "tokens": tokens,
            "tokens_per_second": tokens / found["seconds"],
            "share": engine["seconds"] / found["seconds"],
            "share_of_cpu_time": engine["cpu_seconds"] / found["cpu_seconds"],
        }
        for output, found in medians.items()
    ]


def measure_memory(size: str, source: Path, folder: Path) -> list[dict[str, Any]]:
    """Peak memory of the job by the size of its input."""
    rows = []
    for tokens in MEMORY_TOKENS:
        text = folder / f"{tokens}.txt"
        write_tokens(source, text, tokens)
        rows.append({"size": size, "tokens": tokens, **turn(make_model(size), text, ("average", ".parquet"))})
        print(rows[-1], file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The embed job against the engine alone.")
    parser.add_argument("--sentences", type=Path, default=SHARD, help="text to embed, of any kind that embed reads")
    parser.add_argument("--sizes", nargs="+", choices=TOKENS, default=["compact"])
    parser.add_argument("--turn", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        run_turn(*options.turn)
        return
    if not options.sentences.exists():
        raise SystemExit(f"there is no {options.sentences}; give a text file: --sentences FILE")
    with tempfile.TemporaryDirectory() as folder:
        memory = measure_memory("compact", options.sentences, Path(folder))
        speed = [row for size in options.sizes for row in measure_speed(size, options.sentences, Path(folder))]
    growth = memory[-1]["peak_mb"] / memory[0]["peak_mb"]
    result = {"cores": os.cpu_count(), "speed": speed, "memory": memory, "growth": growth}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_tables(result)


def write_tables(result: dict[str, Any]) -> None:
    speed = [
        [r["size"], r["output"], f"{r['tokens_per_second']:,.0f}", f"{r['share']:.0%}", f"{r['share_of_cpu_time']:.0%}"]
        for r in result["speed"]
    ]
    fill_in("benchmarks.md", "job", table(["model", "file", "tokens/s", "of the engine's speed", "by CPU time"], speed))
    memory = [[r["size"], f"{r['tokens']:,}", f"{r['peak_mb']:,.0f} MB"] for r in result["memory"]]
    fill_in("benchmarks.md", "job memory", table(["model", "tokens of the input", "peak memory"], memory))


if __name__ == "__main__":
    main()
