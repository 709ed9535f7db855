"""Changed words as a PNG: how far the uses of each lie apart, what chance gives, and the senses that came and went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyseme.senses.sense_page import COLOURS
from polyseme.senses.sense_picture import FAINT, INK, save_drawn
from polyseme.senses.text_shift import RANKED_BY, Shift

WORDS, NAMES = 20, 3


def save_shift_picture(found: Shift, path: Path) -> None:
    """Draw the most changed words. Raises MissingExtra without matplotlib."""
    height = 1.3 + 0.34 * max(1, min(len(found.words), WORDS))
    save_drawn(path, (12, height), lambda figure: _draw(figure, found), bbox_inches="tight")


def _draw(figure: Any, found: Shift) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2), sharey=True)
    words = found.words[:WORDS]
    for y, word in enumerate(words):
        one, sure = word.measures[RANKED_BY], found.q[word.word] < 0.05
        colour = COLOURS[0] if sure else FAINT
        left.plot([one.low, one.high], [y, y], color=colour, linewidth=1.5)
        left.scatter([one.value], [y], color=colour, s=36, zorder=3)
        left.scatter([one.chance], [y], color=FAINT, s=60, marker="|", zorder=3)
        ordered = sorted(word.senses, key=lambda sense: -sense.before - sense.after)
        _bar(right, y - 0.2, [sense.before for sense in ordered], 0.45)
        _bar(right, y + 0.2, [sense.after for sense in ordered], 1.0)
        came = max(word.senses, key=lambda sense: sense.change)
        right.text(1.02, y, " · ".join(came.names[:NAMES]), va="center", fontsize=9, color=FAINT)
    left.set_yticks(range(len(words)), [word.word for word in words])
    left.invert_yaxis()
    left.set_title(
        "Distance between uses before and after\n(with 95 % interval; grey bar: by chance)", loc="left", fontsize=10
    )
    right.set_title(
        "Share of each sense before (pale) and after,\nand the sense that grew most", loc="left", fontsize=10
    )
    right.set_xlim(0, 1.6)
    right.set_xticks([])
    for axes in (left, right):
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0, colors=INK)
    right.spines["bottom"].set_visible(False)


def _bar(axes: Any, y: float, shares: Sequence[float], strength: float) -> None:
    begin = 0.0
    for number, share in enumerate(shares):
        axes.barh(y, share, 0.34, left=begin, color=COLOURS[number % len(COLOURS)], alpha=strength)
        begin += share
