"""Which occurrences in the index are nearest to a word in its sentence: in a layer, or in a mix of layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.encoding import Floats
from polyseme.index.vector_index import Index, Occurrence
from polyseme.lm.places import Place
from polyseme.mixing import mixed
from polyseme.senses.sense_map import SenseMap

#: The index is searched layer by layer; for a mix, so many of each layer's nearest are compared anew.
CANDIDATES = 200


@dataclass(frozen=True, slots=True)
class NearestQuery:
    """The ``k`` nearest to a place, by weights of the layers."""

    place: Place
    weights: tuple[float, ...]
    k: int
    same_word: bool

    @property
    def word(self) -> str:
        return self.place.tokens[self.place.begin]


@dataclass(frozen=True, slots=True)
class Near:
    occurrence: Occurrence
    similarity: float


def nearest_in_map(asked: NearestQuery, here: Floats, senses: SenseMap | None) -> list[Near]:
    """Of the occurrences of the same word. ``here``: [L+1, W]"""
    return _ranked(asked, here, senses.occurrences, senses.uses.word) if senses else []


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
    return _ranked(asked, here, candidates, index.layers_of(candidates))


def _ranked(asked: NearestQuery, here: Floats, occurrences: Sequence[Occurrence], layers: Floats) -> list[Near]:
    cosines = cosine(mixed(here[:, None], asked.weights), mixed(layers, asked.weights))[0]  # [n]
    order = np.argsort(-cosines, kind="stable")
    found = (Near(occurrences[number], float(cosines[number])) for number in order)
    return [one for one in found if not _is_itself(asked, one.occurrence)][: asked.k]


def _is_itself(asked: NearestQuery, one: Occurrence) -> bool:
    return one.position == asked.place.begin and one.tokens == list(asked.place.tokens)


def cosine(a: Floats, b: Floats) -> Floats:
    """Of every row of a with every row of b. [n, m]"""
    norms = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    found: Floats = np.clip(a @ b.T / np.maximum(norms, np.finfo(np.float32).tiny), -1, 1)
    return found
