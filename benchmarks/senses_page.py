"""The tables of docs/senses.md, from results/senses.json."""

from __future__ import annotations

from typing import Any

from pages import fill_in, table
from shift_figures import READOUTS as COMPARED
from wsd_readouts import READOUTS

Figures = dict[str, Any]

_SETS = ("reporting", "pseudo-words")
_MEASURES = ("APD", "prototypes", "JSD")


def write_page(found: Figures) -> None:
    """Fill in what was measured."""
    for name, make in (
        ("readouts", readouts_table),
        ("neighbours", neighbours_table),
        ("induction", induction_table),
        ("names", names_line),
        ("wsd", wsd_table),
        ("shift", shift_table),
        ("two-texts", two_texts_table),
        ("speed", speed_table),
    ):
        if text := make(found):
            fill_in("senses.md", name, text)


def _measured(found: Figures, part: str) -> Figures:
    """By model, where it was not left out."""
    return {model: parts[part] for model, parts in found.items() if isinstance(parts.get(part), dict)}


def readouts_table(found: Figures) -> str:
    measured = _measured(found, "readouts")
    names = list(dict.fromkeys(name for figures in measured.values() for name in figures["reporting"]))
    head = ["readout", *(f"{model}, {which}" for model in measured for which in ("senses.tsv", "pseudo-words"))]
    rows = [
        [name, *(_share(figures[which], name) for figures in measured.values() for which in _SETS)] for name in names
    ]
    return table(head, rows) if measured else ""


def _share(figures: Figures | str, name: str) -> str:
    one = figures.get(name) if isinstance(figures, dict) else None
    return f"{one['mean']:.3f} ± {(one['high'] - one['low']) / 2:.3f}" if one else "–"


def neighbours_table(found: Figures) -> str:
    measured = _measured(found, "neighbours")
    names = list(dict.fromkeys(name for figures in measured.values() for name in figures["reporting"]))
    any_word = next((one["any word"] for one in measured.values() if isinstance(one["any word"], dict)), None)
    head = ["compared by", *(f"same word, {model}" for model in measured), *(["any word, en"] if any_word else [])]
    rows = []
    for name in names:
        row = [name, *(_share(figures["reporting"], name) for figures in measured.values())]
        if any_word:
            mean, low, high = any_word["reporting"][name]
            row.append(f"{mean:.3f} ± {(high - low) / 2:.3f}")
        rows.append(row)
    return table(head, rows) if measured else ""


def induction_table(found: Figures) -> str:
    """Adjusted Rand index, V-measure and paired F on the words for reporting."""
    columns = [
        (model, name, figures)
        for model, parts in _measured(found, "induction").items()
        for name, figures in parts.items()
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
    return f"{one['ARI'][0]:z.2f} / {one['V-measure']:.2f} / {one['paired F']:.2f}" if one else "–"


def names_line(found: Figures) -> str:
    lines = []
    for model, halves in _measured(found, "names").items():
        (mean, low, high), groups = halves["reporting"]["share"], halves["reporting"]["groups"]
        lines.append(
            f"With `{model}`, {mean:.0%} of the names are right ({low:.0%} to {high:.0%}; {groups} held-out groups)."
        )
    return "\n".join(lines)


def wsd_table(found: Figures) -> str:
    measured = _measured(found, "wsd")
    head = ["set", "words", "first sense", *READOUTS]
    rows = [
        [f"{model}, {name}" if len(measured) > 1 else name, figures["words"]]
        + [f"{figures[column]:.1f}" for column in head[2:]]
        for model, one in measured.items()
        for name, figures in one["sets"].items()
    ]
    weights = "; ".join(
        ", ".join(f"{part} {weight:g}" for part, weight in one["weights"].items()) for one in measured.values()
    )
    return f"{table(head, rows)}\n\nWeights chosen on SemCor: {weights}." if rows else ""


def shift_table(found: Figures) -> str:
    """Spearman with the true change, by readout and measure; and how often nothing is taken for change."""
    lines = []
    for figures in _measured(found, "shift").values():
        chosen = figures["simulated"]["reporting"]
        head = ["compared by", *(f"{one}{less}" for one in _MEASURES for less in ("", ", less chance"))]
        rows = [[by, *(_correlation(chosen, f"{by}, {column}") for column in head[1:])] for by in COMPARED]
        lines.append(table([column.replace(", less", " minus") for column in head], rows))
        if same := figures.get("the same"):
            rates = ", ".join(f"{name} {same[name]:.1%}" for name in _MEASURES)
            lines.append(
                f"Two halves of one corpus, every second document in each: of {same['words']} words, p is below 0.05 "
                f"for {rates}."
            )
    return "\n\n".join(lines)


def _correlation(figures: Figures, name: str) -> str:
    mean, low, high = figures[name]
    return f"{mean:.2f} ({low:.2f} to {high:.2f})"


def two_texts_table(found: Figures) -> str:
    texts = [figures["two texts"] for figures in _measured(found, "shift").values() if "two texts" in figures]
    if not texts:
        return ""
    rows = [
        [one["word"], f"{one['APD']:.2f}", f"{one['chance']:.2f}", ", ".join(one["went"]), ", ".join(one["came"])]
        for one in texts[0]["most changed"]
    ]
    return table(["word", "distance", "by chance", "sense in the novels", "sense in the encyclopaedia"], rows)


def speed_table(found: Figures) -> str:
    measured = _measured(found, "speed")
    head = ["model", "place, relative to encoding", "words in the softmax", "substitutes, places per second and core"]
    rows = [
        [
            model,
            f"{one['place']:.1%}",
            f"{one.get('words of the softmax', 0):,}",
            f"{one.get('substitutes a CPU second', 0):,}",
        ]
        for model, one in measured.items()
    ]
    return table(head, rows) if measured else ""
