"""From five million words to a model: the commands of docs/small-languages.md, with times and results.

    python benchmarks/small_language.py --work FOLDER

Trains on old novels, except the last books, on which the model is evaluated.
Results: results/small_language.json, from which a table in docs/small-languages.md is written.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages import fill_in, table
from shared_data import DATA

RESULTS = Path(__file__).parent / "results/small_language.json"
TEXTS = DATA / "corpora/en"
NOVELS = ("en-novels.txt.xz", "en-novels-2.txt.xz")
HELD_OUT = 3  #: books
WORDS = 30_000
SETTINGS = ("text.tokens=640", "optimizer.average=0.999", "budget.tokens=15000000", "budget.validate_every=2500000")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    books = [book for name in NOVELS for book in books_of(TEXTS / name)]
    (work / "novels.txt").write_text("\n\n".join(books[:-HELD_OUT]) + "\n", encoding="utf-8")
    (work / "held-out.txt").write_text("\n\n".join(books[-HELD_OUT:]) + "\n", encoding="utf-8")
    settings = [part for one in SETTINGS for part in ("--set", one)]
    prepared = timed(work, "prepare", "novels.txt", "--out", "corpus", "--vocabulary-size", str(WORDS), "--quiet")
    trained = timed(
        *(work, "pretrain", "corpus", "--recipe", "compact", "--out", "run", "--valid", "held-out.txt"),
        *("--threads", "1", "--quiet", *settings, "--set", "budget.validate_on=20000"),
    )
    evaluated = timed(work, "evaluate", "run/model", "held-out.txt", "--json")
    corpus = json.loads((work / "corpus" / "corpus.json").read_text())
    last = json.loads((work / "run" / "log.jsonl").read_text().splitlines()[-1])
    held_out = {name: value for name, value in json.loads(evaluated["said"]).items() if name not in ("files", "model")}
    found = {
        "settings": SETTINGS,
        "books": len(books) - HELD_OUT,
        "corpus_tokens": corpus["tokens"],
        "tokens_seen": last["tokens"],
        "cpu_seconds": {"prepare": prepared["seconds"], "pretrain": trained["seconds"]},
        "held_out": held_out,
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    write_page()


def books_of(path: Path) -> list[str]:
    """Write each book as a document, with an empty line after it."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [book.strip("\n") for book in file.read().split("\n\n") if book.strip()]


def timed(work: Path, *command: str) -> dict[str, Any]:
    """Run a polyseme command: returns what it printed, and its CPU seconds."""
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
        ["books in the training text", f"{found['books']}"],
        ["their tokens", f"{found['corpus_tokens']:,}"],
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
