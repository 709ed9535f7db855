"""What the worker asks a model: for several requests at once, in one pass of the recurrence.

The numbers are those of ``Elmo.encode``, ``Elmo.score`` and ``Elmo.substitutes``, which ask for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from polyseme.encoding import Floats
from polyseme.lm.lexicon import Direction, Substitute
from polyseme.lm.places import Place
from polyseme.lm.scoring import Score, score_stream
from polyseme.senses.nearest import Near, NearestQuery, nearest_by_sense, nearest_in_index, nearest_in_map
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.uses import Readout, Uses, read_uses
from polyseme.serve.served import ServedModel
from polyseme.text.readers import Document

#: A text as sentences of tokens.
Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which words are asked for in a place."""

    place: Place
    k: int
    direction: Direction
    exclude_original: bool

    @property
    def without(self) -> str | None:
        return self.place.word if self.exclude_original else None


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """A word of a sentence among the occurrences of the index; ``senses`` is None where there are none."""

    senses: SenseMap | None
    here: Floats | None = None  # [L+1, 2]
    sense_here: Floats | None = None  # [2]
    group: int | None = None  #: of the senses' groups, the one that the word is used like


def encode(model: ServedModel, requests: list[list[Sentences]]) -> list[list[Floats]]:
    """Layers [L+1, N, W] of each text of each request."""
    found = iter(model.elmo.encode_tokens(_flat(requests)))
    config = model.elmo.config
    empty = np.zeros((config.layers + 1, 0, config.width), dtype=np.float32)
    return [
        [np.concatenate([empty, *(one.layers for one in islice(found, len(text)))], axis=1) for text in texts]
        for texts in requests
    ]


def score(model: ServedModel, requests: list[list[Sentences]]) -> list[list[list[Score]]]:
    """A score for each sentence of each text of each request."""
    found = score_stream(model.elmo, _flat(requests))
    return [[list(islice(found, len(text))) for text in texts] for texts in requests]


def substitutes(model: ServedModel, wanted: list[Wanted]) -> list[list[Substitute]]:
    """The likeliest words of each place."""
    found = model.lexicon.log_probabilities([one.place for one in wanted])
    return [
        model.lexicon.likeliest(found[number : number + 1], one.k, one.direction, one.without)
        for number, one in enumerate(wanted)
    ]


def senses(model: ServedModel, places: list[Place]) -> list[Mapped]:
    """The sense map of each place's word, and where on it the place lies."""
    uses = read_uses(model.elmo, places, lexicon_or_none(model.elmo))
    return [
        _mapped(model.sense_map(place.tokens[place.begin]), uses[number : number + 1])
        for number, place in enumerate(places)
    ]


def similarities(model: ServedModel, asked: list[tuple[Place, Place, Readout]]) -> list[float]:
    """How alike the two places of each question are."""
    words = lexicon_or_none(model.elmo) if any(by in ("topic", "substitutes", "sense") for _, _, by in asked) else None
    uses = read_uses(model.elmo, [place for one in asked for place in one[:2]], words)
    pairs = ((uses[2 * number : 2 * number + 1], uses[2 * number + 1 : 2 * number + 2]) for number in range(len(asked)))
    return [float(a.similarities(b, by)[0, 0]) for (a, b), (_, _, by) in zip(pairs, asked, strict=True)]


def neighbours(model: ServedModel, asked: list[NearestQuery]) -> list[list[Near]]:
    """The nearest occurrences to each place."""
    by_sense = any(one.by == "sense" for one in asked)  # substitutes cost more than the rest
    uses = read_uses(model.elmo, [one.place for one in asked], lexicon_or_none(model.elmo) if by_sense else None)
    return [_nearest(model, one, uses[number : number + 1]) for number, one in enumerate(asked)]


def _nearest(model: ServedModel, asked: NearestQuery, use: Uses) -> list[Near]:
    if asked.by == "sense":
        return nearest_by_sense(asked, use, model.sense_map(asked.word))
    if asked.same_word:
        return nearest_in_map(asked, use.word[:, 0], model.sense_map(asked.word))
    return nearest_in_index(asked, use.word[:, 0], model.needed_index())


def tag(model: ServedModel, requests: list[tuple[tuple[str, ...], list[str]]]) -> list[list[dict[str, Any]]]:
    """(tasks, texts) of each request → a record for each of its texts; requests for the same tasks are read together.

    What is learned of torch is learned here: a server that nobody asks for tags does without it.
    """
    from polyseme.tasks.tagging import tag_documents

    found: dict[int, list[dict[str, Any]]] = {}
    for names in dict.fromkeys(names for names, _ in requests):
        asked = [number for number, (wanted, _) in enumerate(requests) if wanted == names]
        texts = [text for number in asked for text in requests[number][1]]
        documents = (Document(str(number), text, None, "") for number, text in enumerate(texts))
        records = tag_documents([model.task(name) for name in names], documents)
        for number in asked:
            found[number] = list(islice(records, len(requests[number][1])))
    return [found[number] for number in range(len(requests))]


def _mapped(found: SenseMap | None, use: Uses) -> Mapped:
    if found is None:
        return Mapped(None)
    alike = use.similarities(found.uses, "sense")  # [1, n]
    here, sense_here = found.plane.place(use.word)[:, 0], found.sense_plane.place(alike)[0]
    return Mapped(found, here, sense_here, nearest_group(found, alike[0]))


def nearest_group(found: SenseMap, alike: Floats) -> int:
    """The group whose uses are most like a use, on average; ``alike`` says how much each is, by sense [n]."""
    means = np.bincount(found.labels, alike) / np.bincount(found.labels)
    return int(means.argmax())


def _flat(requests: list[list[Sentences]]) -> list[Sequence[str]]:
    return [sentence for texts in requests for text in texts for sentence in text]
