"""Which occurrences in the index are nearest to a word in its sentence: in a layer, in a mix of layers, or by sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyseme.encoding import Floats
from polyseme.index.vector_index import Index, Occurrence
from polyseme.lm.places import Place
from polyseme.mixing import mixed
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.uses import Uses

#: The index is searched layer by layer; for a mix, so many of each layer's nearest are compared anew.
CANDIDATES = 200


@dataclass(frozen=True, slots=True)
class NearestQuery:
    """The ``k`` nearest to a place: by weights of the layers, or by sense among occurrences of the same word."""

    place: Place
    weights: tuple[float, ...]
    k: int
    same_word: bool
    by: Literal["word", "sense"] = "word"

    @property
    def word(self) -> str:
        return self.place.tokens[self.place.begin]


@dataclass(frozen=True, slots=True)
class Near:
    occurrence: Occurrence
    similarity: float


def nearest_in_map(asked: NearestQuery, here: Floats, senses: SenseMap | None) -> list[Near]:
    """Of the occurrences of the same word. ``here``: [L+1, W]"""
    return _ranked(asked, senses.occurrences, _cosines(asked, here, senses.uses.word)) if senses else []


def nearest_by_sense(asked: NearestQuery, use: Uses, senses: SenseMap | None) -> list[Near]:
    """Of the occurrences of the same word, by all that their contexts say."""
    return _ranked(asked, senses.occurrences, use.similarities(senses.uses, "sense")[0]) if senses else []


def nearest_in_index(asked: NearestQuery, here: Floats, index: Index) -> list[Near]:
    """Of all words: exact for a layer that the index holds; of a mix, among the nearest of the layers."""
    (layer, *others) = [number for number, weight in enumerate(asked.weights) if weight]
    if not others and layer in index.layers:
        # More than asked for: what was typed may stand in the index itself.
        found = index.neighbours(here[layer], layer=layer, k=asked.k + 1)
        return [Near(one, one.similarity) for one in found if not _is_itself(asked, one)][: asked.k]
    found_by_row = {
        one.row: one
        for held in index.layers
        for one in index.neighbours(here[held], layer=held, k=max(CANDIDATES, asked.k + 1))
    }
    candidates = list(found_by_row.values())
    return _ranked(asked, candidates, _cosines(asked, here, index.layers_of(candidates)))


def _cosines(asked: NearestQuery, here: Floats, layers: Floats) -> Floats:
    """[L+1, W] and [L+1, n, W] → [n]"""
    cosines: Floats = cosine(mixed(here[:, None], asked.weights), mixed(layers, asked.weights))[0]
    return cosines


def _ranked(asked: NearestQuery, occurrences: Sequence[Occurrence], similarity: Floats) -> list[Near]:
    order = np.argsort(-similarity, kind="stable")
    found = (Near(occurrences[number], float(similarity[number])) for number in order)
    return [one for one in found if not _is_itself(asked, one.occurrence)][: asked.k]


def _is_itself(asked: NearestQuery, one: Occurrence) -> bool:
    return one.position == asked.place.begin and one.tokens == list(asked.place.tokens)


def cosine(a: Floats, b: Floats) -> Floats:
    """Of every row of a with every row of b. [n, m]"""
    norms = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    found: Floats = np.clip(a @ b.T / np.maximum(norms, np.finfo(np.float32).tiny), -1, 1)
    return found
