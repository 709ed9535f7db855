"""The bundled models compared with those of an earlier prototype (7d4ffb5), on the same sets, for docs/models.md.

    python benchmarks/models_compared.py            the table, from the result files
    python benchmarks/models_compared.py --keep     save the current figures as results/models-0.1.json

The second was run once, with the models of that commit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pages import fill_in, table

RESULTS = Path(__file__).parent / "results"
BEFORE = RESULTS / "models-0.1.json"
LANGUAGES = {"en": "English", "ko": "Korean", "zh": "Chinese"}
READOUTS = ("place", "substitutes", "sense")
#: Name of a figure → its format.
FIGURES = {
    "tokens seen": "{:,.0f}",
    "probe, best layer": "{:.1%}",
    "word senses, ALL, top layer": "{:.1%}",
    "senses, top layer": "{:.3f}",
    **{f"senses, {name}": "{:.3f}" for name in READOUTS},
}
Figures = dict[str, float]


def figures(lang: str, results: Path = RESULTS) -> Figures:
    """One number for each question, from the result files of a model."""
    model = json.loads((results / f"model-{lang}.json").read_text(encoding="utf-8"))
    parts = model["parts"]
    found: Figures = {"tokens seen": model["tokens_seen"]}
    if "perplexity" in parts:
        for name, one in parts["perplexity"]["files"].items():
            found[f"bits per byte, {name.split('.')[0]}"] = one["bits_per_byte"]
            found[f"unknown words, {name.split('.')[0]}"] = one["unknown_rate"]
    probes = [part for name, part in parts.items() if name.startswith("pos-") and part["layers"]["test"]]
    if probes:
        found["probe, best layer"] = max(probes[0]["layers"]["test"])
    if "wsd" in parts and "ALL" in parts["wsd"]["layers"]:
        found["word senses, ALL, top layer"] = parts["wsd"]["layers"]["ALL"]["f1"][-1]
    return found | sense_figures(lang, model["layers"], results)


def sense_figures(lang: str, layers: int, results: Path) -> Figures:
    """How often the same sense is nearer, over all words of senses.tsv."""
    measured = json.loads((results / "senses.json").read_text(encoding="utf-8"))[lang]["readouts"]["all"]
    names = {"top layer": f"layer {layers}", **{name: name for name in READOUTS}}
    return {f"senses, {title}": measured[name]["mean"] for title, name in names.items() if name in measured}


def compared_table(before: dict[str, Figures], now: dict[str, Figures]) -> str:
    """A row for each figure of each language: the earlier prototype, and now."""
    rows = [
        (LANGUAGES[lang], name, *(written(name, one.get(name)) for one in (before.get(lang, {}), found)))
        for lang, found in now.items()
        for name in found
    ]
    return table(("model", "figure", "earlier prototype", "now"), rows)


def written(name: str, value: float | None) -> str:
    form = "{:.1%}" if name.startswith("unknown words") else FIGURES.get(name, "{:.3f}")
    return "–" if value is None else form.format(value)


def write_comparison() -> None:
    """Write the table in docs/models.md."""
    before: dict[str, Figures] = json.loads(BEFORE.read_text(encoding="utf-8"))
    fill_in("models.md", "compared", compared_table(before, {lang: figures(lang) for lang in LANGUAGES}))


def main() -> None:
    if sys.argv[1:] == ["--keep"]:
        kept = {lang: figures(lang) for lang in LANGUAGES}
        BEFORE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_comparison()


if __name__ == "__main__":
    main()
