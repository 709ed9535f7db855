"""Half an hour on two cores: train a model on one shard of encyclopaedia text, and measure its held-out perplexity.

    python benchmarks/half_hour.py --work FOLDER [--text FILE] [--held-out FILE]

Prepares the corpus, trains (a stopped run is resumed), evaluates with the full softmax, and writes
benchmarks/results/half_hour.json and the table in docs/training.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from pages import fill_in, table
from polyseme.formats.detect import load
from polyseme.lm.likelihood import Likelihood
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.corpus.held_out import read_sentences
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import change_recipe, load_recipe
from polyseme.pretrain.training.build import trained_model
from polyseme.pretrain.training.journal import read_journal
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.parallel import side_by_side
from polyseme.pretrain.training.perplexity import evaluate
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.pretrain.training.trainer import StepReport
from shared_data import DATA

HERE = Path(__file__).parent
TEXTS = DATA / "corpora/en"
RESULT = HERE / "results" / "half_hour.json"
WORDS = 50_000
CHANGES = [
    "name=half-hour",
    "dropout=0.0",
    "text.tokens=1280",
    "budget.tokens=8000000",
    "budget.validate_every=1500000",
    "budget.validate_on=30000",
]


def train(work: Path, text: Path, held_out: Path) -> Path:
    corpus, run = work / "corpus", work / "run"
    if not corpus.exists():
        prepare([text], corpus, lang="en", vocabulary_size=WORDS)
    recipe = change_recipe(load_recipe("compact"), CHANGES)
    plan = RunPlan(corpus, run, recipe, valid=held_out, threads=min(2, torch.get_num_threads()))

    def say(report: StepReport) -> None:
        if report.step % 200 == 0:
            print(f"{report.tokens:,} tokens, loss {report.loss:.3f}", flush=True)

    pretrain(plan, resume=(run / "last.safetensors").exists(), watch=Watch(stepped=say))
    return run


def measure(work: Path, run: Path, held_out: Path) -> dict[str, object]:
    stored, corpus = load(run / "model"), open_corpus(work / "corpus")
    assert stored.vocabulary is not None
    with side_by_side() as runner:
        sentences = list(read_sentences([held_out], "en"))
        likelihood = sum(
            evaluate(trained_model(stored), sentences, stored.vocabulary, stored.indexer, runner), Likelihood()
        )
    looks = [line for line in read_journal(run / "log.jsonl") if "valid" in line]
    return {
        "recipe": "compact",
        "changes": CHANGES,
        "corpus": {"tokens": corpus.meta.tokens, "types": corpus.meta.types},
        "vocabulary": len(stored.vocabulary),
        "tokens_seen": looks[-1]["tokens"],
        "minutes": looks[-1]["seconds"] / 60,
        "held_out": likelihood.to_dict(),
        "curve": [{"tokens": line["tokens"], "average": line["valid"]["average"]} for line in looks],
    }


def write_page(result: dict[str, object]) -> None:
    held = result["held_out"]
    assert isinstance(held, dict)
    rows = [
        ["perplexity, forward", f"{held['forward']:.1f}"],
        ["perplexity, backward", f"{held['backward']:.1f}"],
        ["perplexity, average (exp of the mean loss)", f"{held['average']:.1f}"],
        ["bits per byte", f"{held['bits_per_byte']:.3f}"],
        ["words of the softmax", f"{result['vocabulary']:,}"],
        ["unknown tokens in the held-out text", f"{100 * held['unknown_rate']:.1f} %"],
        ["tokens of the held-out text", f"{held['tokens']:,}"],
        ["tokens seen in training", f"{result['tokens_seen']:,}"],
        ["minutes, on a machine with other work", f"{result['minutes']:.0f}"],
    ]
    fill_in("training.md", "half hour", table(["", "measured"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--text", type=Path, default=TEXTS / "enwiki-core-1.txt.xz")
    parser.add_argument("--held-out", type=Path, default=TEXTS / "enwiki-heldout.txt.xz")
    options = parser.parse_args()
    run = train(options.work, options.text, options.held_out)
    result = measure(options.work, run, options.held_out)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    write_page(result)
    print(json.dumps(result["held_out"], indent=2))


if __name__ == "__main__":
    main()
