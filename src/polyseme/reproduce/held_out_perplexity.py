"""Beside the tables: how well the model predicts text that it has not seen."""

from __future__ import annotations

from polyseme.reproduce import paper
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.data_sets import HELD_OUT, find_texts
from polyseme.reproduce.document import PAPER, Block, Section, Table
from polyseme.reproduce.frozen_rows import Figures, digests, frozen_measurement, frozen_section
from polyseme.reproduce.knowledge import language_model_digest, measure_likelihood
from polyseme.reproduce.measurement import Missing, Tree


def plan(bench: Bench) -> Tree:
    """Forward and backward, with the full softmax, each sentence from where the model starts."""
    stored = bench.elmo.stored
    if stored.softmax is None or stored.vocabulary is None:
        return Missing("the model has no softmax, so it gives no probabilities")
    files = find_texts(bench.data, (HELD_OUT,))
    if isinstance(files, Missing):
        return files
    (path,) = files
    most = bench.budget.held_out_tokens
    warm = {} if bench.elmo.state == "reset" else {"state": bench.elmo.state}
    return frozen_measurement(
        "perplexity",
        {"model": language_model_digest(stored), **warm, "files": digests(files), "tokens": most},
        lambda: {
            "text": path.name,
            "vocabulary": len(stored.vocabulary or ()),
            **warm,
            **measure_likelihood(stored, path, state=bench.elmo.state, lang=bench.elmo.lang, most=most).to_dict(),
        },
        seconds=(most or 350_000) / 800,
    )


def section(figures: Figures) -> Section:
    """How well the model predicts text it has not seen."""
    blocks: list[Block] = []
    if "forward" in figures:
        row = [figures["text"], *(f"{figures[key]:.1f}" for key in ("forward", "backward", "average"))]
        row += [f"{figures['tokens']:,}", f"{figures['vocabulary']:,}", f"{100 * figures['unknown_rate']:.2f} %"]
        head = ["text", "forward", "backward", "average", "tokens", "words in the softmax", "unknown"]
        blocks.append(Table([*head, PAPER + "average"], [[*row, f"{paper.PERPLEXITY:g}"]]))
    start = "one fixed state" if figures.get("state") == "warm" else "the zero state"
    lead = (
        f"Perplexity on held-out text with the full softmax, each sentence from {start}. The paper's is on the 1 "
        "Billion Word Benchmark; perplexities on different texts and vocabularies cannot be compared."
    )
    return frozen_section("Perplexity", lead, blocks, figures)
