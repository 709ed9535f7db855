"""The demo's findings as one HTML file that needs nothing else: no network, no script, no font of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from polyseme.demo.study import Answer, Study
from polyseme.encoding import Floats
from polyseme.jobs.atomic import replace_when_complete
from polyseme.lm.lexicon import Substitute
from polyseme.prepared_text import split_at_target

WIDTH, HEIGHT, EDGE = 340, 250, 22  # of both pictures

LEAD = (
    "A forward and a backward language model read a sentence. Their hidden states at a word are its vector there. Each "
    "of these words has two meanings."
)
NOTES = (
    "Every point of a map is the word in one sentence; point at it to read the sentence. The map shows how similar "
    "they are by sense, rotated to show the differences between the numbered sentences as far as possible.",
    "Layer 0 sees only the word, so its vectors are equal in every sentence, and their cosine is 1.",
    "Similar uses are found by their context: the words that could stand in this place, the states that predict them, "
    "and the rest of the sentence. A use is shown under the sentence that it resembles more.",
    "The text and the sentences come with polyseme, in polyseme/senses/data; its README lists their sources.",
)

STYLE = """
:root { --ink: #2b2b2b; --faint: #6b6b6b; --pale: #d4d4d4; --line: #e6e6e6; --paper: #ffffff; --card: #fafafa;
        --first: #0072b2; --second: #c24e00; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --faint: #a0a0a0; --pale: #5a5a5a; --line: #383838; --paper: #1b1b1b; --card: #232323;
          --first: #56b4e9; --second: #e69f00; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 3rem 1.5rem; max-width: 62rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK KR", "Malgun Gothic",
       "Microsoft YaHei", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.7rem; font-weight: 400; margin: 3rem 0 1rem; padding-top: 2rem; border-top: 1px solid var(--line); }
h3 { font-size: .8rem; font-weight: 600; color: var(--faint); margin: 1.2rem 0 .3rem; }
p { margin: 0; } .cosines { margin-top: 1rem; } .lead, footer, figcaption { color: var(--faint); }
.pair, .pictures { display: grid; grid-template-columns: 1fr 1fr; gap: 1.25rem; }
.card { background: var(--card); border-radius: .5rem; padding: 1.1rem 1.3rem 1.3rem; min-width: 0; }
.sense { font-weight: 600; font-size: .9rem; } .sentence { font-size: 1.15rem; }
.first { --shade: var(--first); } .second { --shade: var(--second); }
.sense, b { color: var(--shade); } b { font-weight: 600; }
ol, ul { margin: 0; padding: 0; list-style: none; }
li { display: grid; grid-template-columns: 3rem 1fr; font-size: .95rem; padding: .12rem 0; }
li > :first-child { color: var(--faint); font-variant-numeric: tabular-nums; }
.words { margin: 0; } .words span { white-space: nowrap; margin-right: .6em; }
small { color: var(--faint); }
figure { margin: 1.5rem 0 0; min-width: 0; } figcaption { font-size: .8rem; margin-bottom: .4rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 11px system-ui, sans-serif; fill: var(--faint); }
svg .number { fill: var(--paper); text-anchor: middle; font-weight: 600; }
.frame { fill: none; stroke: var(--line); } .place { fill: var(--pale); } .mark { fill: var(--shade); }
.alike { stroke: var(--ink); fill: none; stroke-width: 2; }
.unlike { stroke: var(--faint); fill: none; stroke-width: 2; stroke-dasharray: 5 4; }
.key { margin-top: 1.2rem; } .key li { grid-template-columns: 1.8rem 1fr; }
.key li > :first-child { color: var(--shade); font-weight: 600; }
footer { margin-top: 3.5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); font-size: .85rem; }
@media (max-width: 44rem) { .pair, .pictures { grid-template-columns: 1fr; } }
"""


def save_page(studies: Sequence[Study], path: Path, *, title: str, lang: str) -> None:
    """Write the studies as a page; ``lang`` is that of the words and sentences, all else is English."""
    body = [f'<h1>{escape(title)}</h1><p class="lead">{LEAD}</p>']
    body += [_section(study, escape(lang)) for study in studies]
    body.append(f"<footer>{''.join(f'<p>{note}</p>' for note in NOTES)}</footer>")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>polyseme: {escape(title)}</title><style>{STYLE}</style>"
    )
    content = "\n".join(body)
    page = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{content}\n</body></html>\n'
    with replace_when_complete(path) as file:
        file.write(page.encode("utf-8"))


def _section(study: Study, lang: str) -> str:
    cosines = ", ".join(f"{cosine:.2f} in layer {layer}" for layer, cosine in enumerate(study.cosines))
    cards = "".join(_card(answer, shade) for answer, shade in zip(study.answers, ("first", "second"), strict=True))
    figures = (
        _figure(f"The uses of {study.word} by sense; in grey its places in the text", _map(study)),
        _figure("Mean cosine of two sentences, layer by layer", _chart(study)),
    )
    return (
        f'<section><h2 lang="{lang}">{escape(study.word)}</h2><div class="pair" lang="{lang}">{cards}</div>'
        f'<p class="cosines">Cosine of these two: {cosines}. By sense, two of the '
        f"sentences below are {study.by_sense.same:z.2f} alike on average if their senses are the same, and "
        f"{study.by_sense.cross:z.2f} if not.</p>"
        f'<div class="pictures">{"".join(figures)}</div>{_key(study, lang)}</section>'
    )


def _card(answer: Answer, shade: str) -> str:
    """One sentence, and what the model says of its word."""
    nearest = "".join(
        f"<li><span>{one.similarity:.2f}</span><span>{_highlighted(one.marked)}</span></li>"
        for one in answer.neighbours
    )
    parts = [
        f'<p class="sense" lang="en">{escape(answer.example.sense)}</p>'
        f'<p class="sentence">{_highlighted(answer.example.marked)}</p>',
        _part("Used like this in the text", f"<ol>{nearest}</ol>" if nearest else ""),
        _part("Other words near it", _words(escape(word) for word in answer.others)),
        _part("What else could stand there", _words(_likely(one) for one in answer.substitutes)),
    ]
    return f'<div class="card {shade}">{"".join(parts)}</div>'


def _part(heading: str, content: str) -> str:
    return f'<h3 lang="en">{heading}</h3>{content}' if content else ""


def _words(words: Iterable[str]) -> str:
    spans = " ".join(f"<span>{word}</span>" for word in words)
    return f'<p class="words">{spans}</p>' if spans else ""


def _likely(substitute: Substitute) -> str:
    return f"{escape(substitute.word)} <small>{substitute.probability:.0%}</small>"


def _highlighted(marked: str) -> str:
    before, word, after = split_at_target(marked)
    return f"{escape(before)}<b>{escape(word)}</b>{escape(after)}"


def _figure(caption: str, svg: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>"


def _shade(study: Study, sense: str) -> str:
    return ("first", "second")[study.senses.index(sense)]


def _key(study: Study, lang: str) -> str:
    """The sentences of the map with their numbers, a column for each sense."""
    columns = {"first": "", "second": ""}
    for number, one in enumerate(study.examples, start=1):
        columns[_shade(study, one.sense)] += f"<li><span>{number}</span><span>{_highlighted(one.marked)}</span></li>"
    lists = (f'<ol class="{shade}">{items}</ol>' for shade, items in columns.items())
    return f'<div class="key pair" lang="{lang}">{"".join(lists)}</div>'


def _svg(label: str, content: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(content)}</svg>'


def _map(study: Study) -> str:
    """Numbered circles and squares for the sentences, dots for the places in the text; each says what it is."""
    points = _fitted(np.concatenate([study.map, study.background]))
    content = [f'<rect class="frame" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="6"/>']
    for place, (x, y) in zip(study.places, points[len(study.map) :].tolist(), strict=True):
        content.append(f'<circle class="place" cx="{x:.1f}" cy="{y:.1f}" r="3">{_tip(place.marked)}</circle>')
    for number, (example, (x, y)) in enumerate(zip(study.examples, points.tolist(), strict=False), start=1):
        shade = _shade(study, example.sense)
        shape = (
            f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            if shade == "first"
            else f'<rect class="mark" x="{x - 8:.1f}" y="{y - 8:.1f}" width="16" height="16"/>'
        )
        label = f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{number}</text>'
        content.append(f'<g class="{shade}">{shape}{label}{_tip(f"{example.marked} ({example.sense})")}</g>')
    return _svg(f"A map of the uses of {study.word}", content)


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _fitted(points: Floats) -> Floats:
    """Points [n, 2] stretched to the map; up is up."""
    low, high = points.min(axis=0), points.max(axis=0)
    share = (points - low) / np.maximum(high - low, 1e-9)
    share[:, 1] = 1 - share[:, 1]
    room = np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE])
    return np.asarray(EDGE + share * room, dtype=np.float32)


def _chart(study: Study) -> str:
    """Two lines that begin at 1, because layer 0 knows the word alone."""
    lowest = float(min(study.alike.min(), study.unlike.min(), 0.999))
    left, right, top, bottom = 40, WIDTH - 84, 18, HEIGHT - 28
    xs = [left + (right - left) * layer / (len(study.cosines) - 1) for layer in range(len(study.cosines))]

    def height(cosine: float) -> float:
        return top + (1 - cosine) / (1 - lowest) * (bottom - top)

    content = [f'<line class="frame" x1="{left}" y1="{bottom + 8}" x2="{right}" y2="{bottom + 8}"/>']
    content += [f'<text x="{x:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{n}</text>' for n, x in enumerate(xs)]
    content += [f'<text x="{left - 8}" y="{height(c) + 4:.1f}" text-anchor="end">{c:.2f}</text>' for c in (1, lowest)]
    ends = _apart(height(float(study.alike[-1])), height(float(study.unlike[-1])))
    lines = (("alike", "same sense", study.alike), ("unlike", "two senses", study.unlike))
    for (name, label, values), end in zip(lines, ends, strict=True):
        path = " ".join(f"{x:.1f},{height(float(value)):.1f}" for x, value in zip(xs, values, strict=True))
        content.append(
            f'<polyline class="{name}" points="{path}"/><text x="{right + 8}" y="{end + 4:.1f}">{label}</text>'
        )
    return _svg("Cosines by layer, of sentences of the same sense and of two senses", content)


def _apart(first: float, second: float, gap: float = 14) -> tuple[float, float]:
    """Two heights, moved so that labels there do not overlap."""
    middle, half = (first + second) / 2, max(gap, abs(first - second)) / 2
    return (middle - half, middle + half) if first <= second else (middle + half, middle - half)
