"""Table 5: word senses by the nearest mean vector."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from polyseme.reproduce import frozen_rows, paper
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import finding, signed
from polyseme.reproduce.data_sets import files_below, find_senses
from polyseme.reproduce.document import PAPER, Section, Table
from polyseme.reproduce.frozen_rows import Figures, Source
from polyseme.reproduce.knowledge import measure_word_senses, sense_tokens
from polyseme.reproduce.measurement import Missing, Result, Tree


def plan(bench: Bench) -> Tree:
    """Word senses by the nearest mean vector, for each kind of vectors."""
    budget = bench.budget
    folder = find_senses(bench.data, budget.sense_sets)
    if isinstance(folder, Missing):
        return folder
    settings = {
        "files": frozen_rows.digests(files_below(folder, budget.sense_sets)),
        "sets": budget.sense_sets,
        "semcor_sentences": budget.semcor_sentences,
    }

    def scores(source: Source) -> Result:
        vectors = source(sense_tokens(folder, budget.sense_sets))
        return measure_word_senses(vectors, folder, budget.sense_sets, budget.semcor_sentences)

    seconds = (budget.semcor_sentences or 37_000) / 250
    return {
        title: frozen_rows.if_given(
            bench,
            title,
            frozen_rows.frozen_measurement(
                f"word senses, {title}", settings | {"vectors": key}, partial(scores, source), seconds=seconds
            ),
        )
        for title, (key, source) in frozen_rows.kinds_of_vectors(bench).items()
    }


def section(figures: Figures) -> Section:
    """F1 of word senses, over all sets that were read."""
    kinds = {
        name: found
        for name, found in figures.items()
        if isinstance(found, Mapping) and "f1" in frozen_rows.first_set(found)
    }
    sets = list(next(iter(kinds.values()), {}))
    ours = {
        title: [100 * found[name]["f1"][layer] for name in sets] for title, found, layer in frozen_rows.by_layer(kinds)
    }
    if kinds:
        first = next(iter(kinds.values()))
        ours = {"first sense in WordNet": [100 * first[name]["first_sense"] for name in sets], **ours}
    rows = frozen_rows.beside_the_paper(ours, paper.SENSES, len(sets))
    total = frozen_rows.column_of(ours, -1)
    last = frozen_rows.last_layer(total)
    notes = [
        finding("The last layer compared with the first LSTM layer (paper: +1.6)",
                frozen_rows.ahead(total, last, "biLM, layer 1")),
        finding("The last layer compared with the first sense (paper: +3.1)",
                frozen_rows.ahead(total, last, "first sense in WordNet")),
        finding("The last layer compared with static vectors", frozen_rows.ahead(total, last, "static")),
        _against_the_paper(total) if sets[-1:] == ["ALL"] else None,
    ]  # fmt: skip
    lead = (
        "F1 of the nearest sense, by cosine with the mean vector of each sense in SemCor. A lemma that SemCor lacks "
        "gets WordNet's first sense."
    )
    if kinds:
        lead += " Words: " + ", ".join(f"{name} {first[name]['words']:,}" for name in sets) + "."
    table = Table(["vectors", *(sets or ["here"]), PAPER + "all words"], rows)
    return frozen_rows.frozen_section("Table 5: word senses", lead, [table], figures, notes)


def _against_the_paper(total: Mapping[str, float]) -> str | None:
    """By how much each layer is behind the paper's, on the same words."""
    behind = {name: total[name] - theirs for name, theirs in paper.SENSES.items() if name in total and "biLM" in name}
    if not behind:
        return None
    shown = ", ".join(f"{name.removeprefix('biLM, ')} {signed(difference)}" for name, difference in behind.items())
    return f"Compared with the paper's layers, on the same sets: {shown}."
