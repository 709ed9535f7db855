"""How fast `polyseme prepare` is: tokens a second for raw and for pre-tokenised English, by number of workers.

    python benchmarks/prepare.py [TEXT FILE]

Without a file it takes the Wikipedia shard beside the checkout, else it makes text up. Results: results/prepare.json.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from shared_data import DATA

SHARD = DATA / "corpora/en/enwiki-core-1.txt.xz"
RESULTS = Path(__file__).parent / "results/prepare.json"
REPEATS = 3
TARGET = 100_000  # tokens a second, pre-tokenised, 2 workers


@dataclass(frozen=True)
class Row:
    """Medians of one setting."""

    text: str
    workers: int
    tokens: int
    seconds: float
    cpu_seconds: float
    tokens_per_second: float
    peak_memory_mb: float  # of the parent, so far


def main() -> None:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        raw = _choose_text(Path(folder))
        split = _split(raw, Path(folder))
        rows = [
            _measure(text, path, lang, workers, Path(folder))
            for text, path, lang in (("raw", raw, "en"), ("pre-tokenised", split, "whitespace"))
            for workers in (1, 2)
        ]
    result = {
        "file": raw.name,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load_before": load,
        "rows": [asdict(row) for row in rows],
        "target_tokens_per_second": TARGET,
        "reached": rows[-1].tokens_per_second >= TARGET,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{'text':<15}{'workers':>8}{'tokens':>12}{'seconds':>9}{'CPU s':>8}{'tokens/s':>11}")
    for row in rows:
        print(
            f"{row.text:<15}{row.workers:>8}{row.tokens:>12,}{row.seconds:>9.2f}{row.cpu_seconds:>8.2f}"
            f"{row.tokens_per_second:>11,.0f}"
        )


def _choose_text(folder: Path) -> Path:
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    return SHARD if SHARD.exists() else _made_up(folder / "made-up.txt")


def _made_up(path: Path, lines: int = 100_000) -> Path:
    """Words by Zipf's law, 25 to a line."""
    words = np.random.default_rng(0).zipf(1.2, (lines, 25)) % 300_000
    path.write_text("\n".join(" ".join(f"w{word}" for word in line) for line in words))
    return path


def _split(raw: Path, folder: Path) -> Path:
    """The same text with a space between tokens and one sentence a line, documents apart."""
    prepare([raw], folder / "split")
    corpus = open_corpus(folder / "split")
    first = set(corpus.documents.tolist())
    path = folder / "split.txt"
    with path.open("w", encoding="utf-8") as file:
        for number in range(corpus.meta.sentences):
            file.write("\n" * (number in first) + " ".join(corpus.types(corpus.sentence(number))) + "\n")
    return path


def _measure(text: str, path: Path, lang: str, workers: int, folder: Path) -> Row:
    seconds, cpu = list[float](), list[float]()
    for repeat in range(REPEATS):
        began, spent = time.perf_counter(), _cpu_seconds()
        meta = prepare([path], folder / f"{lang}-{workers}-{repeat}", lang=lang, workers=workers)
        seconds.append(time.perf_counter() - began)
        cpu.append(_cpu_seconds() - spent)
    return Row(
        text=text,
        workers=workers,
        tokens=meta.tokens,
        seconds=median(seconds),
        cpu_seconds=median(cpu),
        tokens_per_second=meta.tokens / median(seconds),
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _cpu_seconds() -> float:
    """Of this process and of its workers that have ended; unlike wall time, it ignores other people's programs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
