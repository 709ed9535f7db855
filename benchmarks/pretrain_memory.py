"""Peak memory of training on corpora of 1 million and 50 million tokens: it should not depend on the size.

    python benchmarks/pretrain_memory.py FILE… [--out FILE.json]

The files are read repeatedly until there is enough text. Each corpus is trained on for a few hundred steps in a
separate process, whose largest resident size is measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from pages import fill_in, table
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.text.readers import read_documents

HERE = Path(__file__).parent
RESULT = HERE / "results" / "pretrain_memory.json"
SIZES = (1_000_000, 50_000_000)
STEPS = 300


def paragraphs(files: list[Path], tokens: int) -> Iterator[str]:
    """Paragraphs of about ``tokens`` tokens in all."""
    for file in cycle(files):
        for document in read_documents([file]):
            text = document.text or ""
            tokens -= int(1.15 * len(text.split()))  # punctuation becomes separate tokens
            yield text + "\n"
            if tokens <= 0:
                return


def train(corpus: Path) -> None:
    """What the measured process does."""
    import torch

    from polyseme.pretrain.recipe import load_recipe
    from polyseme.pretrain.training.batches import TypeTable
    from polyseme.pretrain.training.build import new_model
    from polyseme.pretrain.training.parallel import one_after_the_other
    from polyseme.pretrain.training.sampler import new_sampler
    from polyseme.pretrain.training.trainer import Training, new_optimizer, step_softmax, take, train_step

    torch.set_num_threads(1)
    opened, recipe = open_corpus(corpus), load_recipe("compact")
    model, indexer = new_model(recipe, opened, seed=0)
    table = TypeTable.of_corpus(opened, indexer)
    sampler = new_sampler(recipe.text, opened, table, opened.meta.sentences, directions=2, seed=0)
    training = Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler, seed=0)
    batches = iter(sampler)
    for _ in range(STEPS):
        taken = take(batches, 1)
        train_step(training, taken, step_softmax(training, taken), one_after_the_other)
    print(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def measure(files: list[Path], tokens: int, folder: Path) -> dict[str, float]:
    text = folder / f"{tokens}.txt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(paragraphs(files, tokens))
    corpus = folder / f"corpus-{tokens}"
    meta = prepare([text], corpus, lang="en", vocabulary_size=20_000)
    text.unlink()
    done = subprocess.run([sys.executable, __file__, "--train", corpus], capture_output=True, text=True, check=True)
    return {"tokens": meta.tokens, "types": meta.types, "steps": STEPS, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.train:
        train(options.train)
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(options.files, tokens, Path(folder)) for tokens in SIZES]
    growth = rows[-1]["peak_mb"] / rows[0]["peak_mb"]
    options.out.write_text(json.dumps({"rows": rows, "growth": growth}, indent=2) + "\n")
    if options.out == RESULT:
        cells = [[f"{r['tokens']:,}", f"{r['types']:,}", f"{r['steps']:,}", f"{r['peak_mb']:,.0f} MB"] for r in rows]
        fill_in("training.md", "memory", table(["tokens of the corpus", "types", "steps", "peak memory"], cells))
    print(*rows, f"growth {growth:.3f}", sep="\n")


if __name__ == "__main__":
    main()
