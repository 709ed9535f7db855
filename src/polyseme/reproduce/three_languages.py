"""Beside the tables: universal parts of speech in English, Korean and Chinese."""

from __future__ import annotations

from typing import Any

from polyseme.elmo import Elmo
from polyseme.errors import PolysemeError
from polyseme.reproduce.bench import Bench, name_model
from polyseme.reproduce.comparison import NONE, Verdict, absent, plain, tally
from polyseme.reproduce.data_sets import find_treebank
from polyseme.reproduce.document import Block, Section, Table, section_of
from polyseme.reproduce.frozen_rows import Figures, layers_of, most_frequent_tag, tag_probe
from polyseme.reproduce.measurement import Missing, Tree
from polyseme.reproduce.paper import LANGUAGES, layer_title
from polyseme.reproduce.plots import draw_tags

#: Accuracies that differ by less are even: the test sets have about ten thousand words.
MARGIN = 0.5


def plan(bench: Bench) -> Tree:
    """Universal parts of speech: the model of the report for English, the bundled ones for Korean and Chinese."""
    rows: dict[str, Any] = {}
    for lang in ("en", "ko", "zh"):
        found = find_treebank(bench.data, lang)
        if isinstance(found, Missing):
            rows[lang] = found
            continue
        try:
            elmo = bench.elmo if lang == "en" else Elmo.from_pretrained(lang, device="cpu")
        except PolysemeError as error:
            rows[lang] = Missing(str(error))
            continue
        folder, files = found
        probe = tag_probe(bench, f"{lang} upos, biLM", files, "upos", elmo.identity, layers_of(elmo))
        rows[lang] = {
            "data": folder,
            "model": name_model(elmo, bench.model if lang == "en" else lang),
            "most frequent tag": most_frequent_tag(bench, lang, files, "upos"),
            "biLM": probe,
        }
    return rows


def section(figures: Figures) -> Section:
    """Universal parts of speech in three languages."""
    there = {lang: row for lang, row in figures.items() if row and (row.get("biLM") or {}).get("dev")}
    rows = []
    for lang, row in there.items():
        for split in ("dev", "test"):
            if row["biLM"][split]:
                frequent = (row["most frequent tag"] or {}).get(split)
                layers = [f"{100 * share:.1f}" for share in row["biLM"][split]]
                base = plain(None if frequent is None else 100 * frequent)
                rows.append([LANGUAGES[lang], row["data"], _model(row), split, base, *layers])
    blocks: list[Block] = []
    if rows:
        head = ["language", "treebank", "model", "split", "most frequent tag"]
        width = max(len(row) for row in rows)
        head += [layer_title(number) for number in range(width - len(head))]
        blocks = [draw_tags(there), Table(head, [row + [NONE] * (width - len(row)) for row in rows])]
    lead = "Accuracy of a linear classifier on one layer, universal parts of speech, in percent."
    notes = [_against_most_frequent(there, 1), _against_most_frequent(there, 2), *absent(figures, LANGUAGES)]
    return section_of("English, Korean, Chinese", lead, blocks, notes)


def _against_most_frequent(rows: Figures, layer: int) -> str | None:
    """For which languages a layer knows more than the words without their context."""
    verdicts: dict[str, Verdict | None] = {}
    for lang, row in rows.items():
        split = "test" if row["biLM"]["test"] else "dev"
        frequent, shares = (row["most frequent tag"] or {}).get(split), row["biLM"][split]
        if frequent is not None and layer < len(shares):
            difference = 100 * (shares[layer] - frequent)
            verdicts[LANGUAGES[lang]] = "even" if abs(difference) < MARGIN else "yes" if difference > 0 else "no"
    return tally(f"Layer {layer} is better than the most frequent tag of a word", verdicts, even=f"within {MARGIN:g}")


def _model(row: Figures) -> str:
    """The name of a language's model, and the beginning of its fingerprint."""
    model = row.get("model")
    return f"{model['name']} {model['fingerprint'][:12]}" if model else NONE
