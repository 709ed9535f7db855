"""A sense map as one HTML file that needs nothing else: a map whose points say their sentences, and a card a group."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from polyseme.encoding import Floats
from polyseme.index.occurrences import Occurrence
from polyseme.jobs.atomic import replace_when_complete
from polyseme.senses.sense_map import SenseGroup, SenseMap

WIDTH, HEIGHT, EDGE = 720, 380, 24
#: Okabe and Ito's colours, which everyone tells apart; one a group.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9")
SHOWN = 12

STYLE = """
:root { --ink: #2b2b2b; --faint: #6b6b6b; --line: #e6e6e6; --paper: #fff; --card: #fafafa; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e4; --faint: #a0a0a0; --line: #383838; --paper: #1b1b1b;
  --card: #232323; } }
body { margin: 0 auto; padding: 2.5rem 1.5rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK KR", sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; color: var(--shade); }
p { margin: .3rem 0 1.2rem; } small, .faint { color: var(--faint); font-weight: 400; }
svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }
.card { background: var(--card); border-left: 4px solid var(--shade); border-radius: .3rem; padding: 1rem 1.2rem;
  margin: 1rem 0; }
ol { margin: 0; padding-left: 1.4rem; } ol + p { margin: .3rem 0 0 1.4rem; }
b { color: var(--shade); font-weight: 600; }
"""


def save_sense_page(found: SenseMap, path: Path, *, lang: str) -> None:
    """Write the map and its groups; ``lang`` is that of the sentences."""
    ways = "one way" if len(found.groups) == 1 else f"{len(found.groups)} ways"
    count = counted(found)
    cards = "\n".join(_card(group, number) for number, group in enumerate(found.groups))
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(found.word)}: polyseme</title><style>{STYLE}</style></head>\n<body>"
        f'<h1 lang="{escape(lang)}">{escape(found.word)}</h1><p class="faint">{count}, used in {ways}. '
        f"Uses in similar contexts lie close together. Point at one to read its sentence.</p>\n{_map(found)}\n"
        f'<div lang="{escape(lang)}">{cards}</div>\n'
        "</body></html>\n"
    )
    with replace_when_complete(path) as file:
        file.write(page.encode("utf-8", "replace"))


def counted(found: SenseMap) -> str:
    """How many occurrences there are, and how many of them are on the map: at most so many, and in the same case."""
    count = f"{found.total:,} occurrence{'s' if found.total != 1 else ''}"
    return count if found.total == len(found.occurrences) else f"{count}, {len(found.occurrences)} of them on the map"


def _card(group: SenseGroup, number: int) -> str:
    each = list({one.marked: one for one in group.occurrences}.values())
    items = "".join(f"<li>{_marked(one)}</li>" for one in each[:SHOWN])
    more = f'<p class="faint">and {len(each) - SHOWN:,} more</p>' if len(each) > SHOWN else ""
    names = " · ".join(group.names) or f"group {number + 1}"
    beside = escape(f", beside {', '.join(group.around)}") if group.around else ""
    return (
        f'<div class="card" style="--shade: {_colour(number)}"><h2>{escape(names)} '
        f"<small>{group.share:.0%}{beside}</small></h2><ol>{items}</ol>{more}</div>"
    )


def _marked(one: Occurrence) -> str:
    begin, end = one.span
    return f"{escape(one.text[:begin])}<b>{escape(one.text[begin:end])}</b>{escape(one.text[end:])}"


def _map(found: SenseMap) -> str:
    points = _fitted(found.sense_points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{_colour(label)}" fill-opacity=".75">'
        f"<title>{escape(one.text)}</title></circle>"
        for one, label, (x, y) in zip(found.occurrences, found.labels.tolist(), points.tolist(), strict=True)
    )
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Map of {escape(found.word)}">{dots}</svg>'


def _fitted(points: Floats) -> Floats:
    low, high = points.min(axis=0), points.max(axis=0)
    share = (points - low) / np.maximum(high - low, 1e-9)
    share[:, 1] = 1 - share[:, 1]  # SVG counts downwards; the picture has the same side up
    fitted: Floats = EDGE + share * np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE])
    return fitted


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
