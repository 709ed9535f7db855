"""Words per second and memory compared with a common choice today: all-MiniLM-L6-v2, in PyTorch and ONNX Runtime.

    python benchmarks/today.py [--quick] [--sentences FILE]

All contestants read the same 300 sentences, given as words, in batches of their own choice and one at a time. Each is
a separate process, and they take turns, as in embed.py, whose workers they use. Time is CPU time on one core and wall
time on two. Besides the bundled model, there is one with random weights and vectors of 512 numbers.

MiniLM gives vectors of word pieces and sees both sides at once; ELMo gives vectors of words. Only speed is compared.
Results: results/today.json, and a table in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from embed import WIKITEXT, Contestant, Sentences, Setting, processor, random_weights, read_sentences, take_turn
from embed_peers import CACHE
from pages import fill_in, table
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import save_native

RESULTS = Path(__file__).parent / "results/today.json"
OURS = ("en", "en, int8", "wide", "wide, int8")
#: Title → the worker's name and what it reads.
CONTESTANTS = {
    "en": ("polyseme", "en"),
    "en, int8": ("polyseme-int8", "en"),
    "wide": ("polyseme", "wide"),
    "wide, int8": ("polyseme-int8", "wide"),
    "MiniLM, PyTorch": ("minilm-torch", "onnx"),
    "MiniLM, PyTorch, int8": ("minilm-torch-int8", "onnx"),
    "MiniLM, ONNX Runtime": ("minilm-onnx", "onnx"),
    "MiniLM, ONNX Runtime, int8": ("minilm-onnx-int8", "onnx"),
}
BATCHED, ALONE = 0, 1


def make_wide() -> Path:
    """The bundled English model's token encoder and cells, with 256 numbers per direction; random float16 weights."""
    folder = CACHE / "models" / "wide"
    if not folder.exists():
        en = load("en")
        config = replace(en.config, cell=512, projection=256)
        weights = random_weights(config)
        halves = {name: values.astype(np.float16).astype(np.float32) for name, values in weights.items()}
        folder.parent.mkdir(parents=True, exist_ok=True)
        save_native(StoredModel(config, halves, en.indexer), folder)
    return folder


def measure(cores: int, text: Sentences, repeats: int) -> dict[str, Any]:
    """The turns of all contestants on this many cores, and the peak memory of each process."""
    folders = {"en": "en", "wide": str(make_wide()), "onnx": str(CACHE / "minilm-onnx")}
    few = text[: max(4, len(text) // 5)]
    with ExitStack() as stack:
        workers = {}
        for title, (name, reads) in CONTESTANTS.items():
            workers[title] = Contestant(name, Path(folders[reads]), cores)
            stack.callback(workers[title].close)
            workers[title].ask(do="run", sentences=text[:32], batch=BATCHED)  # a first call is not measured
        turns = []
        for repeat in range(repeats):
            for batch, sentences in ((BATCHED, text), (ALONE, few)):
                for title, worker in workers.items():
                    setting = Setting(title, batch, sentences=len(sentences))
                    turns.append(asdict(take_turn(worker, "today", cores, repeat, setting, sentences)))
        peaks = {title: worker.ask(do="memory")["peak_mb"] for title, worker in workers.items()}
    return {"cores": cores, "turns": turns, "peak_mb": peaks}


def rate(part: dict[str, Any], title: str, batch: int) -> float:
    """Words per second: the median of the repeats."""
    clock = "cpu_seconds" if part["cores"] == 1 else "seconds"
    return median(
        turn["tokens"] / turn[clock]
        for turn in part["turns"]
        if (turn["setting"]["contestant"], turn["setting"]["batch"]) == (title, batch)
    )


def write_page(result: dict[str, Any]) -> None:
    parts = {part["cores"]: part for part in result["parts"]}
    rows = [
        [
            title,
            *(f"{rate(part, title, batch):,.0f}" for part in parts.values() for batch in (BATCHED, ALONE)),
            f"{parts[min(parts)]['peak_mb'][title]:,.0f} MB",
        ]
        for title in CONTESTANTS
    ]
    cores = [f"{count} core{'s' if count > 1 else ''}" for count in parts]
    head = ["", *(f"{where}, {how}" for where in cores for how in ("batches", "one at a time")), "peak memory"]
    about = (
        f"{result['sentences']} sentences of {result['file']}, {result['words']:,} words; {result['processor']}. Words "
        "per second, medians; on one core by CPU time, on two by wall-clock time. *wide* has random weights and "
        "vectors of 512 numbers. Other programs used part of the machine meanwhile (median "
        f"{median(turn['others'] for part in parts.values() for turn in part['turns']):.0%})."
    )
    fill_in("benchmarks.md", "today", f"{about}\n\n{table(head, rows)}\n\n{in_words(parts)}")


def in_words(parts: dict[int, dict[str, Any]]) -> str:
    """How much faster the bundled model is than the fastest MiniLM, at each precision."""
    found = []
    for bits, ours in (("float32", "en"), ("int8", "en, int8")):
        theirs = [title for title in CONTESTANTS if title not in OURS and title.endswith("int8") == (bits == "int8")]
        for batch, how in ((BATCHED, "in batches"), (ALONE, "one at a time")):
            ratios = [
                rate(part, ours, batch) / max(rate(part, title, batch) for title in theirs) for part in parts.values()
            ]
            found.append(f"{bits} {how} {', '.join(f'{ratio:.1f}×' for ratio in ratios)}")
    return "`en` compared with the fastest MiniLM of the same precision, one core first: " + "; ".join(found) + "."


def main() -> None:
    parser = argparse.ArgumentParser(description="polyseme compared with all-MiniLM-L6-v2.")
    parser.add_argument("--quick", action="store_true", help="few sentences, one core, once: to check that it works")
    parser.add_argument("--sentences", type=Path, default=WIKITEXT, help="one sentence of tokens per line")
    parser.add_argument("--cores", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    options = parser.parse_args()
    text = read_sentences(options.sentences, 24 if options.quick else 300)
    cores, repeats = ([1], 1) if options.quick else (options.cores, 3)
    result = {
        "file": options.sentences.name,
        "sentences": len(text),
        "words": sum(map(len, text)),
        "processor": processor(),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "parts": [measure(count, text, repeats) for count in cores],
    }
    if options.quick:
        print(in_words({part["cores"]: part for part in result["parts"]}))
        return
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page(result)


if __name__ == "__main__":
    main()
