"""The tables of docs/senses.md, from results/senses.json."""

from __future__ import annotations

from typing import Any

from pages import fill_in, table
from wsd_readouts import READOUTS

Figures = dict[str, Any]


def write_page(found: Figures) -> None:
    """Fill in what was measured."""
    for name, text in (
        ("readouts", readouts_table(found)),
        ("induction", induction_table(found)),
        ("wsd", wsd_table(found)),
    ):
        if text:
            fill_in("senses.md", name, text)


def readouts_table(found: Figures) -> str:
    models = [model for model, figures in found.items() if "readouts" in figures]
    names = list(dict.fromkeys(name for model in models for name in found[model]["readouts"]["reporting"]))
    head = ["readout", *(f"{model}, {which}" for model in models for which in ("senses.tsv", "pseudo-words"))]
    rows = [
        [name, *(_share(found[model]["readouts"], which, name) for model in models for which in _SETS)]
        for name in names
    ]
    return table(head, rows) if models else ""


_SETS = ("reporting", "pseudo-words")


def _share(figures: Figures, which: str, name: str) -> str:
    one = figures[which].get(name) if isinstance(figures[which], dict) else None
    return f"{one['mean']:.3f} ± {(one['high'] - one['low']) / 2:.3f}" if one else "–"


def induction_table(found: Figures) -> str:
    """Adjusted Rand index, V-measure and paired F on the words for reporting."""
    columns = [
        (model, name, figures)
        for model, parts in found.items()
        for name, figures in parts.get("induction", {}).items()
        if isinstance(figures, dict)
    ]
    methods = list(dict.fromkeys(method for _, _, figures in columns for method in figures["reporting"]))
    head = ["method", *(f"{model}, {name} ({_words(figures)})" for model, name, figures in columns)]
    rows = [
        [method, *(_agreement(figures["reporting"].get(method)) for _, _, figures in columns)] for method in methods
    ]
    return table(head, rows) if columns else ""


def _words(figures: Figures) -> int:
    return int(next(iter(figures["reporting"].values()))["words"])


def _agreement(one: Figures | None) -> str:
    return f"{one['ARI'][0]:.2f} / {one['V-measure']:.2f} / {one['paired F']:.2f}" if one else "–"


def wsd_table(found: Figures) -> str:
    measured = {model: parts["wsd"] for model, parts in found.items() if isinstance(parts.get("wsd"), dict)}
    head = ["set", "words", "first sense", *READOUTS]
    rows = [
        [f"{model}, {name}" if len(measured) > 1 else name, figures["words"]]
        + [f"{figures[column]:.1f}" for column in head[2:]]
        for model, sets in measured.items()
        for name, figures in sets.items()
    ]
    return table(head, rows) if rows else ""
