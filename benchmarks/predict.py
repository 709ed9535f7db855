"""How much of the speed of embedding remains when an NER tagger reads the vectors.

    python benchmarks/predict.py RUN [--tokens 25000] [--repeats 5]

RUN is a folder of ``polyseme task train ner`` with ELMo. The same tokenised sentences are embedded and tagged in turn,
each time by a newly loaded model, so that no token is cached. Results: results/predict.json, and the sentence about it
in docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from pages import fill_in
from polyseme.elmo import Elmo
from polyseme.tasks.data_files import find_data
from polyseme.tasks.definition import find_task
from polyseme.tasks.trained_task import Task
from polyseme.tasks.training import PREDICTED_TOGETHER
from polyseme.text.tokenization import split_text
from shared_data import DATA

RESULTS = Path(__file__).parent / "results" / "predict.json"

Tokens = list[str]


def read_sentences(tokens: int) -> list[Tokens]:
    """The first sentences of the dev split of Universal NER, with at least this many tokens."""
    kept: list[Tokens] = []
    for example in find_task("ner").read(find_data(DATA / "ner/uner-ewt").dev, split_text):
        if sum(map(len, kept)) >= tokens:
            break
        kept.append(list(example.tokens))
    return kept


def embedding(run: str, sentences: list[Tokens]) -> Callable[[], None]:
    elmo = Elmo.from_pretrained(Task.load(run).about["inputs"]["model"], device="cpu")

    def embed() -> None:
        for _ in elmo.stream(sentences):
            pass

    return embed


def predicting(run: str, sentences: list[Tokens]) -> Callable[[], None]:
    tagger = Task.load(run)

    def predict() -> None:
        for _ in tagger.stream(sentences):
            pass

    return predict


def seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--tokens", type=int, default=25_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    sentences = read_sentences(options.tokens)
    tokens = sum(map(len, sentences))
    for prepare in (embedding, predicting):
        prepare(options.run, sentences[:100])()  # kernels are set up once per process
    pairs = [
        tuple(seconds(prepare(options.run, sentences)) for prepare in (embedding, predicting))
        for _ in range(options.repeats)
    ]
    found = {
        "tokens": tokens,
        "batch": PREDICTED_TOGETHER,
        "threads": torch.get_num_threads(),
        "embedding": round(tokens / statistics.median(embed for embed, _ in pairs)),
        "predicting": round(tokens / statistics.median(predict for _, predict in pairs)),
        "ratios": [round(embed / predict, 3) for embed, predict in pairs],
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    share = statistics.median(found["ratios"])
    text = (
        f"{tokens:,} tokens, batches of {PREDICTED_TOGETHER} sentences, {found['threads']} threads: "
        f"{found['embedding']:,} tokens/s embedded, {found['predicting']:,} tokens/s tagged, "
        f"{share:.0%} of the speed of embedding alone (median of {options.repeats} pairs)."
    )
    print(text)
    fill_in("tasks.md", "predicting", text)


if __name__ == "__main__":
    main()
