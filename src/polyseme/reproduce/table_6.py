"""Table 6: parts of speech by a linear probe."""

from __future__ import annotations

from collections.abc import Mapping

from polyseme.reproduce import frozen_rows, paper
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import finding
from polyseme.reproduce.data_sets import find_treebank
from polyseme.reproduce.document import PAPER, Section, Table
from polyseme.reproduce.frozen_rows import Figures
from polyseme.reproduce.measurement import Missing, Tree


def plan(bench: Bench) -> Tree:
    """Parts of speech by a linear probe, for each kind of vectors; the tags of the Penn Treebank."""
    found = find_treebank(bench.data, "en")
    if isinstance(found, Missing):
        return found
    folder, files = found
    probes = {
        title: frozen_rows.if_given(
            bench, title, frozen_rows.tag_probe(bench, f"en xpos, {title}", files, "xpos", key, source)
        )
        for title, (key, source) in frozen_rows.kinds_of_vectors(bench).items()
    }
    return {"data": folder, "most frequent tag": frozen_rows.most_frequent_tag(bench, "en", files, "xpos"), **probes}


def section(figures: Figures) -> Section:
    """Accuracy of a linear probe for the tags of the Penn Treebank."""
    kinds = {name: found for name, found in figures.items() if isinstance(found, Mapping) and "decays" in found}
    splits = [split for split in ("dev", "test") if any(found[split] for found in kinds.values())]
    ours = {
        title: [100 * found[split][layer] if found[split] else None for split in splits]
        for title, found, layer in frozen_rows.by_layer(kinds)
    }
    frequent = figures.get("most frequent tag") or {}
    if "dev" in frequent:
        base = [None if frequent[split] is None else 100 * frequent[split] for split in splits]
        ours = {"most frequent tag": base, **ours}
    rows = frozen_rows.beside_the_paper(ours, paper.TAGS, len(splits))
    total = frozen_rows.column_of(ours, -1)
    notes = [
        finding("The first LSTM layer compared with the last (paper: +0.5)",
                frozen_rows.ahead(total, "biLM, layer 1", frozen_rows.last_layer(total))),
        finding("The first LSTM layer compared with the most frequent tag of a word",
                frozen_rows.ahead(total, "biLM, layer 1", "most frequent tag")),
        finding("The first LSTM layer compared with static vectors",
                frozen_rows.ahead(total, "biLM, layer 1", "static")),
        _few_numbers(total),
    ]  # fmt: skip
    where = f" on {figures['data']}" if "data" in figures else ""
    lead = (
        f"Accuracy of a linear classifier on one layer, for Penn Treebank tags{where}. The paper used the WSJ test set."
    )
    table = Table(["vectors", *(splits or ["here"]), PAPER + "test"], rows)
    return frozen_rows.frozen_section("Table 6: parts of speech", lead, [table], figures, notes)


def _few_numbers(total: Mapping[str, float]) -> str | None:
    """Why static vectors are below the most frequent tag, where they are."""
    difference = frozen_rows.ahead(total, "static", "most frequent tag")
    if difference is None or difference >= 0:
        return None
    return (
        f"Static vectors are below the most frequent tag of a word by {-difference:.1f}: a linear classifier has too "
        "few numbers to tell all words apart (glove-6b-50d: 50, without capital letters), while the most frequent tag "
        "is looked up for each word."
    )
