"""Tables and pictures from the models' cards and results/model-*.json, for docs/models.md.

python benchmarks/models_page.py
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from pages import DOCS, fill_in, table

PAGE = "models.md"
MODELS = Path(__file__).parents[1] / "src/polyseme/models"
TITLES = {"en": "English", "ko": "Korean", "zh": "Chinese"}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # distinguishable for colour-blind readers too
CURVE_TICKS = (50, 70, 100, 150, 200, 300, 400, 600, 1000, 2000)  # of perplexity
Part = dict[str, Any]


def write_page(results: Path) -> None:
    """Fill the marked parts of docs/models.md: one from the cards, and one for each language with results."""
    fill_in(PAGE, "cards", card_table(MODELS))
    for lang in TITLES:
        path = results / f"model-{lang}.json"
        if path.exists():
            fill_in(PAGE, f"model {lang}", section(json.loads(path.read_text(encoding="utf-8")), DOCS))


def card_table(models: Path) -> str:
    """What the training runs recorded, for every bundled model."""
    head = ("model", "layers", "words", "tokens seen", "hours", "perplexity, held out", "megabytes")
    return table(head, [card_row(models / lang) for lang in TITLES if (models / lang).is_dir()])


def card_row(folder: Path) -> tuple[str, ...]:
    about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network, training = about["network"], about["card"]["training"]
    width = network["projection"] * (2 if network["bidirectional"] else 1)
    return (
        f"`{folder.name}`",
        f"{network['layers']} of {width} numbers",
        f"{len((folder / 'vocab.txt').read_text(encoding='utf-8').splitlines()):,}",
        f"{training['tokens_seen']:,}",
        f"{training['hours']:.1f}",
        f"{training['held_out']['average']:.1f}",
        f"{sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) / 1e6:.1f}",
    )


def section(result: Part, docs: Path) -> str:
    """Everything that was measured for one model; parts that were not are left out."""
    parts: Part = result["parts"]
    texts = [introduction(result)]
    if "curve" in parts:
        name = f"model-{result['lang']}-curve.png"
        draw_curve(parts["curve"], docs / name)
        texts.append(f"![Perplexity on held-out text while training]({name})")
    if "perplexity" in parts:
        texts.append(perplexity_table(parts["perplexity"]))
    probes = {name.removeprefix("pos-"): part for name, part in parts.items() if name.startswith("pos-")}
    if probes:
        name = f"model-{result['lang']}-layers.png"
        draw_layers(probes, docs / name)
        texts += [tag_table(probes), f"![Accuracy of the linear probe by layer]({name})"]
    for name, write in (
        ("senses", senses_text),
        ("wsd", wsd_table),
        ("states", states_table),
        ("float16", float16_table),
    ):
        if name in parts:
            texts.append(write(parts[name]))
    if "speed" in parts:
        texts.append(speed_text(parts["speed"]))
    return "\n\n".join(texts)


def introduction(result: Part) -> str:
    seen = f", {result['tokens_seen'] / 1e6:.0f} million tokens seen" if result["tokens_seen"] else ""
    return (
        f"{result['layers']} layers of {result['width']} numbers, a softmax of {result['vocabulary']:,} words{seen}; "
        f"weights `{result['digest'][:12]}`."
    )


def perplexity_table(part: Part) -> str:
    rows = [
        (name, *(f"{one[key]:.1f}" for key in ("forward", "backward", "average")), f"{one['bits_per_byte']:.3f}",
         f"{one['tokens']:,}", f"{one['unknown_rate']:.2%}")
        for name, one in part["files"].items()
    ]  # fmt: skip
    head = ("held-out text", "forward", "backward", "average", "bits per byte", "tokens", "unknown")
    return "Perplexity with the full softmax, each sentence from the zero state:\n\n" + table(head, rows)


def tag_table(probes: dict[str, Part]) -> str:
    """A row for each treebank and split that was read."""
    count = max(len(part["layers"]["dev"]) for part in probes.values())
    with_glove = any("glove" in part for part in probes.values())
    head = ["treebank", "split", "most frequent tag", *(["GloVe"] if with_glove else []), "token layer"]
    head += [f"layer {number}" for number in range(1, count)]
    rows = []
    for name, part in probes.items():
        for split in ("dev", "test"):
            if part["layers"][split] is not None:
                glove = [percent(part["glove"][split][0])] if "glove" in part else [""] if with_glove else []
                layers = [percent(value) for value in part["layers"][split]]
                rows.append((name, split, percent(part["most_frequent"][split]), *glove, *layers))
    text = "Parts of speech by a linear probe on frozen vectors, accuracy in per cent:\n\n" + table(head, rows)
    shares = [error_share(name, part) for name, part in probes.items() if "glove" in part]
    return "\n\n".join([text, *shares])


def error_share(name: str, part: Part) -> str:
    split = "test" if part["layers"]["test"] is not None else "dev"
    best, glove = max(part["layers"][split]), part["glove"][split][0]
    return f"On {name} ({split}) the best layer makes {(1 - best) / (1 - glove):.0%} of the errors that GloVe makes."


def senses_text(part: Part) -> str:
    rows = [
        (
            layer_name(number),
            percent(one["share"]),
            f"{percent(one['interval'][0])}–{percent(one['interval'][1])}",
            f"{one['margin']:.3f}",
        )
        for number, one in enumerate(part["layers"])
    ]
    text = (
        f"{part['words']} ambiguous words: how often a use is closer to one in the same sense than to one in another "
        "(static vectors: 50 by construction), with its 95 % interval over words, and how much closer:"
    )
    return text + "\n\n" + table(("layer", "same sense nearer", "interval", "difference of cosines"), rows)


def wsd_table(part: Part) -> str:
    """F1 by set."""
    sets = list(part["layers"])
    count = len(part["layers"][sets[0]]["f1"])
    rows = [("first sense", *(percent(part["layers"][name]["first_sense"]) for name in sets))]
    rows.append(("GloVe", *(percent(part["glove"][name]["f1"][0]) for name in sets)))
    for layer in range(count):
        rows.append((layer_name(layer), *(percent(part["layers"][name]["f1"][layer]) for name in sets)))
    words = ", ".join(f"{name} {part['layers'][name]['words']:,}" for name in sets)
    text = f"Word senses by the nearest mean of SemCor's senses, F1 in per cent (words: {words}):"
    return text + "\n\n" + table(("", *sets), rows)


def states_table(part: Part) -> str:
    rows = [(state, *compared(part[state])) for state in ("reset", "warm", "carry")]
    text = f"The state in which a sentence starts, on {sample(part)}:"
    return text + "\n\n" + table(("state", *compared_head(part["reset"])), rows)


def float16_table(part: Part) -> str:
    rows = [(title, *compared(part[key])) for title, key in (("as stored", "stored"), ("before rounding", "float32"))]
    return f"What rounding the weights to float16 costs, on {sample(part)}:\n\n" + table(
        ("weights", *compared_head(part["stored"])), rows
    )


def sample(part: Part) -> str:
    tokens = next(one["perplexity"]["tokens"] for one in part.values() if isinstance(one, dict))
    return f"the first {tokens:,} tokens of {part['file']} and the dev split of {part['treebank']} ({part['column']})"


def compared_head(one: Part) -> list[str]:
    return ["forward", "backward", "average", *(f"probe, {layer_name(n)}" for n in range(len(one["probe"]["dev"])))]


def compared(one: Part) -> list[str]:
    perplexities = [f"{one['perplexity'][key]:.2f}" for key in ("forward", "backward", "average")]
    return [*perplexities, *(f"{100 * value:.2f}" for value in one["probe"]["dev"])]


def speed_text(part: Part) -> str:
    cold, cached = (part[key]["tokens_per_second"] for key in ("cold", "cached"))
    busy = "" if part["load"] < 1.5 * part["threads"] else f" The machine was busy (load {part['load']:.1f})."
    cores = "one core" if part["threads"] == 1 else f"{part['threads']} cores"
    return (
        f"Embedding {part['tokens']:,} tokens on {cores}: {cold:,.0f} tokens/s the first time, "
        f"{cached:,.0f} when the tokens are in the cache.{busy}"
    )


def layer_name(number: int) -> str:
    return f"layer {number}" if number else "token layer"


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def draw_curve(part: Part, path: Path) -> None:
    """One line for each training run that continued the model, since rate and held-out sample may differ."""
    figure, axes = _axes("tokens seen, millions", "perplexity, held-out text")
    seen, values = part["tokens_seen"], part["perplexity"]
    begins = [0, *(place for place in range(1, len(seen)) if seen[place] <= seen[place - 1]), len(seen)]
    for start, end in pairwise(begins):
        axes.plot([tokens / 1e6 for tokens in seen[start:end]], values[start:end], color=COLOURS[0], marker=".")
    axes.set_yscale("log")
    axes.set_yticks(CURVE_TICKS, [str(tick) for tick in CURVE_TICKS])
    axes.minorticks_off()
    axes.set_ylim(0.95 * min(part["perplexity"]), 1.05 * max(part["perplexity"]))
    figure.savefig(path, dpi=150)


def draw_layers(probes: dict[str, Part], path: Path) -> None:
    """A line for each treebank; a baseline without layers is a horizontal line."""
    figure, axes = _axes("layer", "accuracy, per cent")
    for colour, (name, part) in zip(COLOURS, probes.items(), strict=False):
        split = "test" if part["layers"]["test"] is not None else "dev"
        values = [100 * value for value in part["layers"][split]]
        axes.plot(range(len(values)), values, color=colour, marker="o", label=f"{name} ({split})")
        across = {"most frequent tag": part["most_frequent"][split]}
        if "glove" in part:
            across["GloVe"] = part["glove"][split][0]
        for style, (title, value) in zip(("--", ":"), across.items(), strict=False):
            axes.axhline(100 * value, color=colour, linestyle=style, label=f"{name}, {title}")
    axes.set_xticks(range(len(values)))
    figure.legend(fontsize=8, loc="outside lower center", ncols=len(probes))
    figure.savefig(path, dpi=150)


def _axes(across: str, up: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    return figure, axes


if __name__ == "__main__":
    write_page(Path(__file__).parent / "results")
