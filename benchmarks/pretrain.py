"""Tokens per second of the trainer compared with a plain port, interleaved in one run.

    python benchmarks/pretrain.py [--text FILE] [--repeats N] [--out FILE.json]

Batches have 64 × 20 positions, the vocabulary 50,000 words, and steps include backward, clipping and update. The
contestants make one step each in turn, so that changes in the machine's speed affect all of them; medians are compared.
The rate of a matrix product of 1024³ is measured between the turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from pages import fill_in, table
from plain_port import PlainPort
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import Recipe, load_recipe
from polyseme.pretrain.training.batches import PackedBatch, TypeTable, pack_sentences
from polyseme.pretrain.training.build import new_model
from polyseme.pretrain.training.parallel import Runner, one_after_the_other, side_by_side
from polyseme.pretrain.training.trainer import Training, new_optimizer, step_softmax, train_step
from shared_data import DATA

HERE = Path(__file__).parent
TEXT = DATA / "corpora/en/enwiki-core-1.txt.xz"
RESULT = HERE / "results" / "pretrain.json"
ROWS, STEPS, WORDS = 64, 20, 50_000
SHAPES = {
    "compact": [],
    "small": [
        "model.cell=1024",
        "model.filters=[[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]",
    ],
}


@dataclass
class Contestant:
    """A program that makes training steps, and the seconds that each step took."""

    name: str
    shape: str
    cores: int
    step: Callable[[PackedBatch], object]
    intraop: int = 1
    seconds: list[float] = field(default_factory=list)

    def turn(self, batch: PackedBatch) -> None:
        torch.set_num_threads(self.intraop)
        begun = time.perf_counter()
        self.step(batch)
        self.seconds.append(time.perf_counter() - begun)

    @property
    def rate(self) -> float:
        return ROWS * STEPS / statistics.median(self.seconds)


def recipe_for(shape: str, negatives: int) -> Recipe:
    changes = [
        *SHAPES[shape],
        f"softmax.negatives={negatives}",
        "dropout=0.0",
    ]
    return load_recipe("compact", changes)


def trainer(corpus: Corpus, shape: str, negatives: int, cores: int, run: Runner) -> Contestant:
    recipe = recipe_for(shape, negatives)
    model, _ = new_model(recipe, corpus, seed=0)
    training = Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler=None, seed=0)  # type: ignore[arg-type]

    def step(batch: PackedBatch) -> None:
        training.states = None
        train_step(training, [batch], step_softmax(training, [batch]), run)

    return Contestant(f"polyseme, {negatives:,} negatives", shape, cores, step)


def plain(corpus: Corpus, shape: str, negatives: int, cores: int) -> Contestant:
    model, _ = new_model(recipe_for(shape, negatives), corpus, seed=0)
    return Contestant(f"plain port, {negatives:,} negatives", shape, cores, PlainPort(model, negatives).step, cores)


def gemm_rate(threads: int) -> float:
    """GFLOP/s of a product of two 1024 × 1024 matrices."""
    torch.set_num_threads(threads)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    best = min(_seconds(lambda: a @ b) for _ in range(5))
    return 2 * 1024**3 / best / 1e9


def _seconds(do: Callable[[], object]) -> float:
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


def flops_per_token(recipe: Recipe, types_per_token: float, columns: float) -> float:
    """Matrix products of one position, forward and backward, in both directions: three times the forward pass."""
    model = recipe.model
    lstm = 2 * model.layers * 2 * (2 * model.projection * 4 * model.cell + model.cell * model.projection)
    softmax = 2 * 2 * model.projection * recipe.softmax.negatives
    filters = sum(count for _, count in model.filters)
    convolutions = sum(
        2 * width * model.character_dim * count * (columns - width + 1) for width, count in model.filters
    )
    encoder = convolutions + model.highways * 4 * filters**2 + 2 * filters * model.projection
    return 3 * (lstm + softmax + types_per_token * encoder)


def batches_of(corpus: Corpus, count: int) -> list[PackedBatch]:
    """Batches of 64 pieces of 19 tokens, 20 positions in each direction, from the zero state."""
    _, indexer = new_model(recipe_for("compact", 2048), corpus, seed=0)
    table = TypeTable.of_corpus(corpus, indexer)
    long = (corpus.sentence(i).astype(np.int64) for i in range(corpus.meta.sentences))
    pieces = [sentence[: STEPS - 1] for sentence in islice((s for s in long if len(s) >= STEPS - 1), ROWS * count)]
    return [
        pack_sentences(pieces[i : i + ROWS], table, directions=2, share=slice(None))
        for i in range(0, ROWS * count, ROWS)
    ]


def measure(corpus: Corpus, repeats: int) -> dict[str, object]:
    batches = batches_of(corpus, repeats + 1)
    with ExitStack() as stack:
        pair = stack.enter_context(side_by_side())
        contestants = [
            plain(corpus, "compact", 2048, 1),
            trainer(corpus, "compact", 2048, 1, one_after_the_other),
            trainer(corpus, "compact", 8192, 1, one_after_the_other),
            plain(corpus, "compact", 2048, 2),
            trainer(corpus, "compact", 2048, 2, pair),
            plain(corpus, "small", 2048, 1),
            trainer(corpus, "small", 2048, 1, one_after_the_other),
        ]
        gemm = {1: list[float](), 2: list[float]()}
        for number, batch in enumerate(batches):
            for contestant in contestants:
                contestant.turn(batch)
            for threads, rates in gemm.items():
                rates.append(gemm_rate(threads))
            print(f"round {number + 1} of {len(batches)}", flush=True)
            if number == 0:
                for contestant in contestants:
                    contestant.seconds.clear()  # the first step of each allocates its memory
    distinct = statistics.mean(len(batch.rows) / (ROWS * STEPS) for batch in batches)
    rates = {(c.name, c.shape, c.cores): c.rate for c in contestants}
    one, two = statistics.median(gemm[1]), statistics.median(gemm[2])

    def rate(name: str, shape: str = "compact", cores: int = 1) -> float:
        return rates[name, shape, cores]

    flops = flops_per_token(recipe_for("compact", 2048), distinct, columns=14)
    ours, port = "polyseme, 2,048 negatives", "plain port, 2,048 negatives"
    return {
        "rows": ROWS,
        "steps": STEPS,
        "vocabulary": len(corpus.vocabulary),
        "distinct_types_per_token": distinct,
        "gemm_gflops": {"one core": one, "two cores": two},
        "tokens_per_second": [
            {"contestant": name, "shape": shape, "cores": cores, "median": value}
            for (name, shape, cores), value in rates.items()
        ],
        "ratios": {
            "compact over plain port, one core": rate(ours) / rate(port),
            "compact over plain port, two cores": rate(ours, cores=2) / rate(port, cores=2),
            "small over plain port, one core": rate(ours, "small") / rate(port, "small"),
            "8,192 over 2,048 negatives": rate("polyseme, 8,192 negatives") / rate(ours),
            "two cores over one": rate(ours, cores=2) / rate(ours),
            "share of the GEMM rate, one core": rate(ours) * flops / (one * 1e9),
        },
    }


def write_page(results: dict[str, object]) -> None:
    """The table in docs/training.md."""
    rates, ratios, gemm = results["tokens_per_second"], results["ratios"], results["gemm_gflops"]
    assert isinstance(rates, list) and isinstance(ratios, dict) and isinstance(gemm, dict)
    speeds = [[r["shape"], r["contestant"], r["cores"], f"{r['median']:,.0f}"] for r in rates]
    shown = [[name, f"{value:.2f}"] for name, value in ratios.items()]
    note = (
        f"Matrix products of 1024³ in the same run: {gemm['one core']:.0f} GFLOP/s on one core, "
        f"{gemm['two cores']:.0f} on two. {100 * float(str(results['distinct_types_per_token'])):.0f} distinct tokens "
        f"for 100 positions of a batch; {int(str(results['vocabulary'])):,} words."
    )
    text = "\n\n".join(
        [table(["shape", "contestant", "cores", "tokens/s"], speeds), table(["ratio", "measured"], shown), note]
    )
    fill_in("training.md", "speed", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=TEXT)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare([options.text], Path(folder) / "corpus", lang="en", vocabulary_size=WORDS)
        results = measure(open_corpus(Path(folder) / "corpus"), options.repeats)
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(results, indent=2) + "\n")
    if options.out == RESULT:
        write_page(results)
    for name, value in results["ratios"].items():  # type: ignore[attr-defined]
        print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
