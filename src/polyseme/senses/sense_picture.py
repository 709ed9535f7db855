"""A sense map as a PNG: a point for each occurrence, a colour and a shape for each group, names and clear sentences."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from polyseme.extras import needing
from polyseme.jobs.atomic import replace_when_complete
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.sense_page import COLOURS, counted

MARKERS = ("o", "s", "^", "D", "v", "P")
INK, FAINT = "#333333", "#767676"
#: matplotlib's own font first; Korean and Chinese need one of these installed.
FAMILIES = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK KR",
    "Noto Sans CJK JP",  # the name that matplotlib gives the file which has them all
    "Malgun Gothic",
    "Microsoft YaHei",
    "PingFang SC",
)
SENTENCES, AROUND = 2, 48


def save_sense_picture(found: SenseMap, path: Path) -> None:
    """Draw the map. Raises MissingExtra without matplotlib."""
    save_drawn(path, (12, 4.6), lambda figure: _draw(figure, found))


def save_drawn(path: Path, size: tuple[float, float], draw: Callable[[Any], None], **how: Any) -> None:
    """A PNG of ``size`` inches of what is drawn into a figure; ``how`` it is saved beyond that."""
    with needing("a picture", "plots"):
        import matplotlib
        from matplotlib.figure import Figure
    style: Any = {"font.family": installed_families(), "font.size": 10, "text.color": INK}
    with matplotlib.rc_context(style), replace_when_complete(path) as file:
        figure = Figure(figsize=size)
        draw(figure)
        figure.savefig(file, format="png", dpi=150, facecolor="white", **how)


@cache
def installed_families() -> list[str]:
    """Those of FAMILIES that are here, also if they came after matplotlib wrote down what it found."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    if set(FAMILIES[1:]).isdisjoint(fontManager.get_font_names()):
        for path in findSystemFonts():
            if "SansCJK" in Path(path).name:
                fontManager.addfont(path)
    return [name for name in FAMILIES if name in fontManager.get_font_names()]


def _draw(figure: Any, found: SenseMap) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    figure.subplots_adjust(left=0.02, right=0.99, top=0.88, bottom=0.04, wspace=0.06)
    points = found.sense_points
    for number in range(len(found.groups)):
        members = points[found.labels == number]
        left.scatter(*members.T, s=34, color=COLOURS[number], marker=MARKERS[number], alpha=0.75, linewidths=0)
    left.set_title(f"{found.word}: {counted(found)}", loc="left", fontsize=12, fontweight="bold")
    left.set_xticks([])
    left.set_yticks([])
    left.margins(0.08)
    left.spines[:].set_color("#d4d4d4")
    right.set_axis_off()
    right.set_xlim(0, 1)
    right.set_ylim(0, 1)
    step = 1 / max(3, len(found.groups))
    for number, group in enumerate(found.groups):
        y = 1 - number * step - 0.02
        names = " · ".join(group.names) or f"group {number + 1}"
        right.scatter([0.012], [y], s=50, color=COLOURS[number], marker=MARKERS[number], linewidths=0)
        right.text(0.035, y, f"{names}  {group.share:.0%}", color=COLOURS[number], fontweight="bold", va="center")
        if group.around:
            right.text(
                0.99, y, f"beside {', '.join(group.around[:3])}", color=FAINT, fontsize=9, va="center", ha="right"
            )
        shown = list({one.marked: one for one in group.occurrences}.values())[:SENTENCES]
        for line, one in enumerate(shown, start=1):
            before, word, after = one.text[: one.span[0]], one.text[slice(*one.span)], one.text[one.span[1] :]
            text = f"{_cut_left(before)}{word}{_cut_right(after)}"
            right.text(0.035, y - line * min(0.085, step / 3.2), text, fontsize=9, color=FAINT, va="center")


def _cut_left(text: str) -> str:
    return text if len(text) <= AROUND else "…" + text[-AROUND:]


def _cut_right(text: str) -> str:
    return text if len(text) <= AROUND else text[:AROUND] + "…"
