"""What the page asks about a word in two sentences, asked in advance: the answers are those of the server, to the byte.

static_page/backend.js finds them again by the same names.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from polyseme.lm.places import Place, find_place
from polyseme.prepared_text import read_target
from polyseme.senses.sense_map import SenseMap
from polyseme.serve.api import QUESTIONS, Service
from polyseme.serve.fields import Fields
from polyseme.serve.limits import Limits
from polyseme.serve.metrics import Metrics
from polyseme.serve.served import Models, ServedModel
from polyseme.serve.worker import Worker

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WordPair:
    """A word and two sentences to show it in, the word in brackets."""

    word: str
    first: str
    second: str


class Recorder:
    """A server without a network: it asks what the page would ask."""

    def __init__(self, models: Models) -> None:
        limits = Limits(answer_seconds=600)
        self._service = Service(models, Worker(limits, Metrics()), limits)
        self._loop = asyncio.new_event_loop()  # of its own: a notebook runs one already
        self._thread = threading.Thread(target=self._loop.run_forever, name="polyseme-recorder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._service.worker.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, path: str, **fields: Any) -> Json:
        return asyncio.run_coroutine_threadsafe(self._ask(path, fields), self._loop).result()

    async def _ask(self, path: str, fields: Json) -> Json:
        response = await QUESTIONS[path](self._service, Fields(orjson.dumps(fields)))
        answer: Json = orjson.loads(response.body)
        return answer

    def record(self, model: ServedModel, pair: WordPair) -> tuple[Json, list[str]]:
        """Answers by name, and the sentences that lead to them: as texts and as tokens."""
        answers: Json = {}
        places = [find_place(model.elmo, text) for text in (pair.first, pair.second)]
        texts = [read_target(text)[0] for text in (pair.first, pair.second)]
        for text, place in zip(texts, places, strict=True):
            answers[f"score|{text}"] = self.ask("/score", model=model.name, texts=[text])
            for name, path, fields in _about(place, model):
                answers[name] = self.ask(path, model=model.name, **fields)
        first, second = (name for name in answers if name.startswith("senses|"))
        answers[second] = {"like": first} | {key: answers[second][key] for key in ("here", "group", "sense")}
        for a, b in (texts, texts[::-1]):
            answers[f"similarity|{a}|{b}"] = self.ask("/similarity", model=model.name, first=a, second=b, grid=True)
        return answers, [*texts, *(" ".join(place.tokens) for place in places)]


def _about(place: Place, model: ServedModel) -> Iterator[tuple[str, str, Json]]:
    """Every question about a word in its sentence: its name, path and fields."""
    where = {"tokens": list(place.tokens), "position": place.begin}
    name = f"{' '.join(place.tokens)}|{place.begin}"
    yield f"senses|{name}", "/senses", where
    for direction in ("forward", "both", "backward") if model.elmo.config.bidirectional else ("forward",):
        yield f"substitutes|{name}|{direction}", "/substitutes", {**where, "k": 10, "direction": direction}
    for layer in (*range(model.layers), "mix"):
        mix = [1.0] * model.layers if layer == "mix" else [float(layer == one) for one in range(model.layers)]
        for same in (True, False):
            fields = {**where, "mix": mix, "same_word": same, "k": 10}
            yield f"neighbours|{name}|{layer}|{str(same).lower()}", "/neighbours", fields
    yield f"neighbours|{name}|sense|true", "/neighbours", {**where, "by": "sense", "same_word": True, "k": 10}


def pair_of(found: SenseMap) -> WordPair | None:
    """The clearest sentences of the two largest groups, short enough for a screen; None where there is one group."""
    if len(found.groups) < 2:
        return None
    shown = [
        next((text for text in group.sentences if len(text) <= 90 and text.count("[") == 1), group.sentences[0])
        for group in found.groups[:2]
    ]
    return WordPair(found.word, *shown)
