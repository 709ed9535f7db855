"""Whether the explorer's two-dimensional map separates senses, at its top layer and at its stop "sense".

    labelled    the eight labelled sentences of a word, placed on the map of the bundled text like a typed sentence:
                the share whose nearest other one has the same sense; chance is 3/7
    colours     the marks of the map: the share whose nearest other one has the same colour, which is its group

explorer_examples.py measures both when it chooses the examples, and writes the table in docs/serve.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages import table
from polyseme.encoding import Floats
from polyseme.senses.labelled import mean_interval, nearest_accuracy
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.uses import Uses

STOPS = ("top layer", "sense")
MEASURES = ("labelled", "colours")


@dataclass(frozen=True)
class OnTheMap:
    """The shares of a word, by measure and stop."""

    word: str
    shares: dict[str, dict[str, float]]


def place_labelled(word: str, senses: Sequence[str], uses: Uses, found: SenseMap) -> OnTheMap:
    """Measure the labelled uses of a word on its map."""
    rings = (found.plane.place(uses.word)[-1], found.sense_plane.place(uses.similarities(found.uses, "sense")))
    marks = (found.points[-1], found.sense_points)
    colours = [str(label) for label in found.labels]
    labelled = {stop: nearest_accuracy(_nearness(points), senses) for stop, points in zip(STOPS, rings, strict=True)}
    coloured = {stop: nearest_accuracy(_nearness(points), colours) for stop, points in zip(STOPS, marks, strict=True)}
    return OnTheMap(word, {"labelled": labelled, "colours": coloured})


def summarize(words: Sequence[OnTheMap]) -> dict[str, Any]:
    """Means over words with their intervals."""
    means: dict[str, Any] = {"words": len(words)}
    for measure in MEASURES:
        means[measure] = {}
        for stop in STOPS:
            one = mean_interval([word.shares[measure][stop] for word in words])
            means[measure][stop] = {"mean": one.mean, "low": one.low, "high": one.high}
    return means


def write_rows(results: dict[str, Any]) -> str:
    """The table of docs/serve.md."""
    rows = []
    for lang, one in results.items():
        for name, title in (("reporting", "{} words"), ("shown", "the {} examples")):
            found = one["on_the_map"][name]
            shares = [found[measure][stop] for measure in MEASURES for stop in STOPS]
            rows.append([f"{lang}, {title.format(found['words'])}", *(_share(share) for share in shares)])
    head = ["", *(f"{what}, {stop}" for what in ("same sense", "same colour") for stop in STOPS)]
    return table(head, rows)


def _share(one: dict[str, float]) -> str:
    return f"{one['mean']:.2f} ± {(one['high'] - one['low']) / 2:.2f}"


def _nearness(points: Floats) -> Floats:
    """[n, 2] → [n, n]"""
    nearness: Floats = -np.linalg.norm(points[:, None] - points, axis=2)
    return nearness
