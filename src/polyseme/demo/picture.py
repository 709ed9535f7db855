"""The demo's findings as a picture: for each word its sentences, their map, and how far apart the senses are by layer.

Colours are told apart by everyone (Okabe and Ito's blue and vermilion), and shapes differ too. matplotlib has no
Korean or Chinese glyphs, so the characters that are drawn come along in a small font of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyseme.demo.study import Study
from polyseme.extras import needing
from polyseme.jobs.atomic import replace_when_complete
from polyseme.prepared_text import split_at_target
from polyseme.senses.labelled import read_senses, split_halves

FONT = Path(__file__).parent / "fonts" / "demo-cjk.otf"
FAMILY = "Polyseme Demo CJK"

#: Of the first and of the second sense.
COLOURS = ("#0072b2", "#d55e00")
MARKERS = ("o", "s")
INK, FAINT, PALE = "#333333", "#767676", "#d4d4d4"

WIDTH, HEAD, ROW, FOOT = 12.0, 1.3, 3.1, 0.3  # inches
LATIN = "DejaVu Sans"
LEGEND = (
    "The map shows how alike the uses are by sense, that is by what stands around the word; grey dots are the word's "
    "places in the text that comes with polyseme.\n"
    "Layer 0 knows the word alone, so its vectors are equal everywhere, as static vectors are."
)


def drawn_characters() -> set[str]:
    """The characters that matplotlib's own font lacks: any labelled word may be the one that is shown."""
    drawn = [word for lang in ("ko", "zh") for word in split_halves(read_senses(lang=lang))[1]]
    texts = [text for word in drawn for text in (word.word, *word.sentences)]
    return {character for text in texts for character in text if ord(character) > 0x2000}


def save_picture(studies: list[Study], path: Path, *, title: str) -> None:
    """Draw the studies, one below the other, as a PNG. Raises MissingExtra without matplotlib."""
    with needing("a picture", "plots"):
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.font_manager import fontManager
    fontManager.addfont(FONT)
    style: Any = {"font.family": [LATIN, FAMILY], "font.size": 9.5, "text.color": INK, "axes.edgecolor": PALE}
    with matplotlib.rc_context(style), replace_when_complete(path) as file:
        figure = Figure(figsize=(WIDTH, HEAD + ROW * len(studies) + FOOT))
        _draw(figure, studies, title)
        figure.savefig(file, format="png", dpi=150, facecolor="white")


def _draw(figure: Any, studies: list[Study], title: str) -> None:
    height = HEAD + ROW * len(studies) + FOOT
    figure.text(0.03, 1 - 0.45 / height, title, fontsize=13.5, fontweight="bold", family=LATIN)
    figure.text(0.03, 0.22 / height, LEGEND, fontsize=8, color=FAINT, linespacing=1.5)
    cells = figure.add_gridspec(
        len(studies),
        3,
        width_ratios=(6.2, 3.2, 2.6),
        left=0.03,
        right=0.975,
        top=1 - HEAD / height,
        bottom=(FOOT + 0.7) / height,
        wspace=0.16,
        hspace=0.4,
    )
    for row, study in enumerate(studies):
        _write_sentences(figure.add_subplot(cells[row, 0]), study)
        _draw_map(figure.add_subplot(cells[row, 1]), study)
        _draw_layers(figure.add_subplot(cells[row, 2]), study)


def _write_sentences(axes: Any, study: Study) -> None:
    """The word, and its sentences with their numbers, sense by sense."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.text(0, 1.02, study.word, fontsize=15, va="bottom")
    y = 0.93
    for which, sense in enumerate(study.senses):
        axes.text(0, y, sense, color=COLOURS[which], fontsize=10.5, fontweight="bold", family=LATIN, va="center")
        for number, example in enumerate(study.examples, start=1):
            if example.sense == sense:
                y -= 0.125
                _mark(axes, 0.018, y, which, number)
                _write_sentence(axes, 0.048, y, example.marked, COLOURS[which])
        y -= 0.17


def _write_sentence(axes: Any, x: float, y: float, marked: str, colour: str) -> None:
    """A sentence in three pieces, each beginning where the last one ends; the word is in colour."""
    before, word, after = split_at_target(marked)
    (begin, shade), *following = [
        (piece, shade) for piece, shade in ((before, INK), (word, colour), (after, INK)) if piece
    ]
    last = axes.text(x, y, begin, va="center_baseline", color=shade)
    for piece, shade in following:
        last = axes.annotate(piece, xy=(1, 0), xycoords=last, va="bottom", color=shade)


def _mark(axes: Any, x: float, y: float, which: int, number: int) -> None:
    """A numbered circle or square."""
    layer = 3 + number  # a mark lies on those before it with its number: two numbers never stand in each other
    shape: dict[str, Any] = {"marker": MARKERS[which], "color": COLOURS[which], "edgecolors": "white"}
    axes.scatter([x], [y], s=130, **shape, linewidths=0.6, zorder=layer, clip_on=False)
    axes.text(x, y, str(number), color="white", fontsize=7.5, ha="center", va="center_baseline", zorder=layer + 0.5)


def _draw_map(axes: Any, study: Study) -> None:
    _write_title(axes, "its uses, by sense")
    axes.scatter(*study.background.T, s=14, color=PALE, linewidths=0)
    for number, (example, (x, y)) in enumerate(zip(study.examples, study.map.tolist(), strict=True), start=1):
        _mark(axes, x, y, study.senses.index(example.sense), number)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.12)


def _draw_layers(axes: Any, study: Study) -> None:
    _write_title(axes, "how alike two are: by layer, by sense")
    layers = range(len(study.cosines))
    for values, sense, colour, dashes, label in (
        (study.alike, study.by_sense.same, INK, "-", "same sense"),
        (study.unlike, study.by_sense.cross, FAINT, (0, (3, 2)), "two senses"),
    ):
        axes.scatter([len(layers)], [sense], color=colour, s=26, zorder=3)
        axes.plot(
            layers, values, color=colour, linestyle=dashes, linewidth=1.6, marker="o", markersize=3.5, label=label
        )
    lowest = float(min(study.alike.min(), study.unlike.min(), study.by_sense.same, study.by_sense.cross))
    room = max(1 - lowest, 1e-3)
    axes.set_ylim(lowest - 0.1 * room, 1 + 0.4 * room)  # the legend has a place above the lines, wherever they go
    axes.legend(loc="upper right", frameon=False, fontsize=8.5, labelcolor="linecolor", handlelength=2.2)
    axes.set_xticks([*layers, len(layers)], [*map(str, layers), "sense"])
    axes.tick_params(length=0, labelsize=8.5, labelcolor=FAINT)
    others = [tick for tick in axes.get_yticks() if lowest - 0.1 * room <= tick <= 1 - 0.1 * room]
    axes.set_yticks([*others, 1.0])  # where the curves begin
    axes.margins(x=0.08)
    axes.spines[["top", "right"]].set_visible(False)


def _write_title(axes: Any, text: str) -> None:
    axes.set_title(text, fontsize=9, color=FAINT, pad=6, loc="left")
