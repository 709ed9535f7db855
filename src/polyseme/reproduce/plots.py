"""The figures as SVG, drawn from the JSON alone: equal figures give equal bytes.

Colours are Okabe and Ito's, which colour-blind people can distinguish; lines also differ in dashes and marks.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from polyseme.extras import needing
from polyseme.reproduce.comparison import means_of, scores
from polyseme.reproduce.document import Picture
from polyseme.reproduce.paper import LANGUAGES, TITLES, layer_title

BLUE, VERMILION, GREEN, INK, FAINT = "#0072B2", "#D55E00", "#009E73", "#333333", "#767676"
LINES = ((VERMILION, "o", "-"), (BLUE, "s", "--"), (GREEN, "^", ":"))
#: Text is drawn as shapes, so it looks the same everywhere. No date and no random names, so files are reproducible.
STYLE = {
    "svg.fonttype": "path",
    "svg.hashsalt": "polyseme",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
SAMPLES = (("elmo", "with ELMo"), ("baseline", "baseline"))
#: The style of lines across a plot.
THIN = {"linewidth": 0.8, "alpha": 0.7}
USES = (("same", "same sense"), ("cross", "two senses"))


def require_plots() -> None:
    """MissingExtra now, and not after a night of work."""
    with needing("the report of polyseme reproduce", "tasks"):
        import matplotlib  # noqa: F401


def draw_samples(curves: Mapping[str, Any]) -> Picture:
    """Figure 1: a panel for each task."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (task, row) in zip(panels, curves.items(), strict=True):
            for (colour, mark, dashes), (name, label) in zip(LINES, SAMPLES, strict=False):
                points = [(100 * one["share"], scores(one["runs"])) for one in row[name] if scores(one["runs"])]
                _line(axes, points, color=colour, marker=mark, linestyle=dashes, label=label)
            axes.set_xscale("log")
            ticks = [100 * one["share"] for one in row["baseline"]]
            axes.set_xticks(ticks, [f"{tick:g} %" for tick in ticks])
            axes.minorticks_off()
            axes.set_title(TITLES[task], loc="left", fontsize=11)
            axes.set_xlabel("share of the training data")
            axes.set_ylabel(f"dev {row['metric']}")
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)

    return _picture("figure-1", "Dev score against the share of the training data", (4.6 * len(curves), 3.6), draw)


def draw_weights(learned: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> Picture:
    """Figure 2: a row for each task, a column for each layer; input on the left, output on the right."""
    places = [place for place in ("input", "output") if any(place in found for found in learned.values())]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(places), squeeze=False)[0]
        for axes, place in zip(panels, places, strict=True):
            rows = {task: found[place] for task, found in learned.items() if place in found}
            means = [means_of(shares) for shares in rows.values()]
            image = axes.imshow(means, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_xticks(range(len(means[0])), map(layer_title, range(len(means[0]))))
            axes.set_yticks(range(len(rows)), [TITLES[task] for task in rows])
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.set_title(f"at the {place}", loc="left", fontsize=11)
            for y, shares in enumerate(rows.values()):
                for x, layer in enumerate(zip(*shares, strict=True)):
                    spread = f"\n± {stdev(layer):.2f}" if len(layer) > 1 else ""
                    ink = "white" if means[y][x] > 0.5 else INK
                    axes.text(x, y, f"{means[y][x]:.2f}{spread}", ha="center", va="center", color=ink, fontsize=9)
        figure.colorbar(image, ax=list(panels), label="weight of the layer", fraction=0.04)

    size = (1.5 + 3.6 * len(places), 1.3 + 0.55 * len(learned))
    return _picture("figure-2", "Softmax-normalised weights of the layers, by task", size, draw)


def draw_senses(layers: Sequence[Mapping[str, float]]) -> Picture:
    """Mean cosine of two uses of a word, layer by layer."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (colour, mark, dashes), (name, label) in zip(LINES, USES, strict=False):
            points = [(number, [one[name]]) for number, one in enumerate(layers)]
            _line(axes, points, color=colour, marker=mark, linestyle=dashes, label=label)
        _layer_axis(axes, len(layers))
        axes.set_ylabel("mean cosine of two uses")
        axes.legend(frameon=False)

    return _picture("senses", "Mean cosine of two uses of a word in the same and in two senses", (5.2, 3.4), draw)


def draw_tags(rows: Mapping[str, Any]) -> Picture:
    """Accuracy of the probe, layer by layer; a horizontal line shows the most frequent tag of a word."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (colour, mark, dashes), (lang, row) in zip(LINES, rows.items(), strict=False):
            split = "test" if row["biLM"]["test"] else "dev"
            points = [(number, [100 * share]) for number, share in enumerate(row["biLM"][split])]
            _line(axes, points, color=colour, marker=mark, linestyle=dashes, label=f"{LANGUAGES[lang]} ({split})")
            if (frequent := (row["most frequent tag"] or {}).get(split)) is not None:
                axes.axhline(100 * frequent, color=colour, linestyle=dashes, **THIN)
        _layer_axis(axes, max(len(row["biLM"]["dev"]) for row in rows.values()))
        axes.set_ylabel("accuracy, per cent")
        axes.errorbar([], [], color=INK, label="most frequent tag of a word", **THIN)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

    return _picture("languages", "Accuracy of the linear probe by layer, in each language", (6.4, 3.4), draw)


def _line(axes: Any, points: Sequence[tuple[float, Sequence[float]]], **look: Any) -> None:
    """Means, with error bars (standard deviation) where there are several values; a single value gets no bar."""
    axes.errorbar([x for x, _ in points], [fmean(values) for _, values in points], **look)
    several = [(x, fmean(values), stdev(values)) for x, values in points if len(values) > 1]
    if several:
        xs, means, errors = zip(*several, strict=True)
        axes.errorbar(xs, means, yerr=errors, capsize=3, linestyle="none", color=look["color"])


def _layer_axis(axes: Any, count: int) -> None:
    axes.set_xticks(range(count), map(layer_title, range(count)))
    axes.margins(x=0.08)
    axes.grid(alpha=0.3)


def _picture(name: str, text: str, size: tuple[float, float], draw: Any) -> Picture:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return Picture(f"reproduction-{name}", text, file.getvalue())
