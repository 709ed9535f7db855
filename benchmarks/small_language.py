"""From a few million words to a model: the commands of docs/small-languages.md, with their time and result.

    python benchmarks/small_language.py --work FOLDER

Trains on one set of old novels, and evaluates on the first 1,500 paragraphs of another that has other books.
Results: results/small_language.json, from which a table in docs/small-languages.md is written.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from pages import fill_in, table
from shared_data import DATA

RESULTS = Path(__file__).parent / "results/small_language.json"
TEXTS = DATA / "corpora/en"
WORDS = 30_000
SETTINGS = ("text.tokens=640", "optimizer.average=0.999", "budget.tokens=2000000", "budget.validate_every=500000")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    with lzma.open(TEXTS / "en-novels-2.txt.xz", "rt", encoding="utf-8") as lines:
        (work / "held-out.txt").write_text("".join(islice(lines, 1500)), encoding="utf-8")
    text, settings = str(TEXTS / "en-novels.txt.xz"), [part for one in SETTINGS for part in ("--set", one)]
    prepared = timed(work, "prepare", text, "--out", "corpus", "--vocabulary-size", str(WORDS), "--quiet")
    trained = timed(
        *(work, "pretrain", "corpus", "--recipe", "compact", "--out", "run", "--valid", "held-out.txt"),
        *("--threads", "1", "--quiet", *settings, "--set", "budget.validate_on=20000"),
    )
    evaluated = timed(work, "evaluate", "run/model", "held-out.txt", "--json")
    corpus = json.loads((work / "corpus" / "corpus.json").read_text())
    held_out = {name: value for name, value in json.loads(evaluated["said"]).items() if name not in ("files", "model")}
    found = {
        "settings": SETTINGS,
        "corpus_tokens": corpus["tokens"],
        "tokens_seen": 2_000_000,
        "cpu_seconds": {"prepare": prepared["seconds"], "pretrain": trained["seconds"]},
        "held_out": held_out,
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    write_page()


def timed(work: Path, *command: str) -> dict[str, Any]:
    """A command of polyseme: what it printed, and its CPU seconds."""
    before = os.times()
    run = subprocess.run(
        [sys.executable, "-m", "polyseme", *command], cwd=work, check=True, stdout=subprocess.PIPE, text=True
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"said": run.stdout, "seconds": used}


def write_page() -> None:
    fill_in("small-languages.md", "small language", result_table(json.loads(RESULTS.read_text())))


def result_table(found: dict[str, Any]) -> str:
    held = found["held_out"]
    rows = [
        ["tokens of the training text", f"{found['corpus_tokens']:,}"],
        ["tokens seen in training", f"{found['tokens_seen']:,}"],
        ["CPU minutes of `prepare`, one core", f"{found['cpu_seconds']['prepare'] / 60:.1f}"],
        ["CPU minutes of `pretrain`, one core", f"{found['cpu_seconds']['pretrain'] / 60:.1f}"],
        ["perplexity on held-out books, forward", f"{held['forward']:.1f}"],
        ["perplexity on held-out books, backward", f"{held['backward']:.1f}"],
        ["bits per byte", f"{held['bits_per_byte']:.3f}"],
        ["unknown tokens in the held-out text", f"{100 * held['unknown_rate']:.1f} %"],
    ]
    return table(["", "measured"], rows)


if __name__ == "__main__":
    main()
