"""Beside the tables: how far apart two senses of a word are, layer by layer."""

from __future__ import annotations

from polyseme.jobs.manifests import sha256_of
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.document import Block, Section, Table
from polyseme.reproduce.frozen_rows import Figures, frozen_measurement, frozen_section
from polyseme.reproduce.knowledge import measure_ambiguous_words
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import layer_title
from polyseme.reproduce.plots import draw_senses
from polyseme.senses.shipped import SENSES


def plan(bench: Bench) -> Tree:
    """How far two senses of a word lie apart, layer by layer, in the words that come with polyseme."""
    return frozen_measurement(
        "ambiguous words",
        {"model": bench.elmo.identity, "lang": "en", "sentences": sha256_of(SENSES)},
        lambda: measure_ambiguous_words(bench.elmo, "en"),
        seconds=5,
    )


def section(figures: Figures) -> Section:
    """How far two senses of a word lie apart."""
    blocks: list[Block] = []
    if "layers" in figures:
        rows = [
            [layer_title(number), f"{one['same']:.3f}", f"{one['cross']:.3f}", f"{one['margin']:.3f}",
             f"{100 * one['share']:.0f} %"]
            for number, one in enumerate(figures["layers"])
        ]  # fmt: skip
        head = ["layer", "same sense", "two senses", "difference", "same sense nearer"]
        blocks = [draw_senses(figures["layers"]), Table(head, rows)]
    count = f" of {figures['words']} words" if "words" in figures else ""
    lead = (
        f"Mean cosine of two uses{count}, in the same sense and in two senses, layer by layer. The sentences come with "
        "polyseme. The last column counts triplets (a use, another in the same sense, one in a different sense); "
        "half of them are right by chance. The token layer sees only the word, so all uses are equal there."
    )
    return frozen_section("How far apart two senses are", lead, blocks, figures)
