"""The endpoints: what a request may say, and what is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from starlette.responses import Response

from polyseme.errors import PolysemeError
from polyseme.lm.lexicon import Direction
from polyseme.mixing import mixed
from polyseme.senses.nearest import NearestQuery, cosine
from polyseme.senses.uses import Readout
from polyseme.serve import questions
from polyseme.serve.answers import (
    JSON_NUMBER,
    NPY_NUMBER,
    Json,
    check_size,
    chosen_layers,
    json_answer,
    map_of,
    near_of,
    npy_answer,
    scores_of,
)
from polyseme.serve.arguments import (
    Text,
    marked_tokens,
    read_marked,
    read_mix,
    read_place,
    read_places,
    read_texts,
    read_weights,
    split_texts,
)
from polyseme.serve.fields import Fields
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.questions import Wanted
from polyseme.serve.served import Models, ServedModel
from polyseme.serve.worker import Question, Worker

MOST_WORDS = 1000  # substitutes or neighbours of one request


@dataclass(frozen=True, slots=True)
class Service:
    """What the endpoints work with."""

    models: Models
    worker: Worker
    limits: Limits

    def model(self, fields: Fields) -> ServedModel:
        return self.models.find(fields.text("model", self.models.default.name))

    async def ask(self, question: Question, model: ServedModel, item: Any, tokens: int) -> Any:
        try:
            return await self.worker.ask(question, model, item, tokens)
        except PolysemeError as error:
            raise Refusal(422, str(error)) from None

    async def ask_about(self, question: Question, model: ServedModel, texts: list[Text]) -> list[Any]:
        """One answer for each text; they wait together."""
        item = [[sentence.tokens for sentence in text.sentences] for text in texts]
        found: list[Any] = await self.ask(question, model, item, sum(len(text.tokens) for text in texts))
        return found


async def encode(service: Service, fields: Fields) -> Response:
    """Texts or tokens → vectors."""
    model = service.model(fields)
    texts = await read_texts(fields, model, service.limits)
    wanted = fields.choice("layers", ("mix", "all", "top", *range(model.layers)), "mix")
    weights = read_mix(fields, model)
    pooled = fields.choice("pool", ("none", "mean"), "none") == "mean"
    form = fields.choice("format", ("json", "npy"), "json")
    fields.end()
    vectors = len(texts) if pooled else sum(len(text.tokens) for text in texts)
    numbers = vectors * model.elmo.config.width * (model.layers if wanted == "all" else 1)
    check_size(numbers, service.limits, NPY_NUMBER if form == "npy" else JSON_NUMBER)
    found = await service.ask_about(questions.encode, model, texts)
    arrays = [chosen_layers(layers, wanted, weights) for layers in found]  # [N, W] or [L+1, N, W] each
    if pooled:
        arrays = [array.sum(axis=-2) / max(1, array.shape[-2]) for array in arrays]
    if form == "npy":
        joined = np.stack(arrays, axis=-2) if pooled else np.concatenate(arrays, axis=-2)
        return npy_answer(joined, [len(text.tokens) for text in texts])
    name = "vector" if pooled else "vectors"
    answers = [text.to_dict() | {name: array} for text, array in zip(texts, arrays, strict=True)]
    return json_answer({"model": model.name, "texts": answers})


async def score(service: Service, fields: Fields) -> Response:
    """Texts or tokens → log-probabilities in nats."""
    model = service.model(fields)
    texts = await read_texts(fields, model, service.limits)
    fields.end()
    found = await service.ask_about(questions.score, model, texts)
    answers = [text.to_dict() | scores_of(sentences) for text, sentences in zip(texts, found, strict=True)]
    return json_answer({"model": model.name, "texts": answers})


async def substitutes(service: Service, fields: Fields) -> Response:
    """A marked word → the words that could stand there."""
    model = service.model(fields)
    place = await read_place(fields, model, service.limits)
    k = fields.number("k", 1, MOST_WORDS, 10)
    direction = cast(Direction, fields.choice("direction", get_args(Direction), "both"))
    wanted = Wanted(place, k, direction, fields.flag("exclude_original"))
    fields.end()
    if direction == "backward" and not model.elmo.config.bidirectional:
        raise Refusal(422, f'direction is "backward", but the model {model.name!r} reads forward only')
    found = await service.ask(questions.substitutes, model, wanted, len(place.tokens))
    return json_answer({"model": model.name, "substitutes": [asdict(one) for one in found]})


async def neighbours(service: Service, fields: Fields) -> Response:
    """A marked word → its nearest occurrences in the index, with the defaults of ``Index.neighbours``."""
    model = service.model(fields)
    place = await read_place(fields, model, service.limits)
    k = fields.number("k", 1, MOST_WORDS, 10)
    layered = any([fields.has("layer"), fields.has("mix")])  # a list: fields are known when they have been looked for
    same_word = fields.flag("same_word", not fields.has("by") and not layered and model.has_uses(place.word))
    by_default = "sense" if same_word and not layered else "word"
    by = cast(Literal["word", "sense"], fields.choice("by", ("word", "sense"), by_default))
    asked = NearestQuery(place, read_weights(fields, model), k, same_word, by)
    if by == "sense" and (not same_word or layered):
        raise Refusal(
            422, 'by "sense", the contexts of one word are compared: it needs "same_word": true, and no layer or mix'
        )
    fields.end()
    model.needed_index()
    found = await service.ask(questions.neighbours, model, asked, len(place.tokens))
    return json_answer({"model": model.name, "neighbours": [near_of(one) for one in found]})


async def similarity(service: Service, fields: Fields) -> Response:
    """Two texts → the cosine of their marked words in every layer; with "grid", of every word with every word."""
    model = service.model(fields)
    by = cast(Readout, fields.choice("by", get_args(Readout), "word"))
    if by != "word":
        return await _similarity_of_contexts(service, fields, model, by)
    plain, spans = zip(*(read_marked(fields.text(name)) for name in ("first", "second")), strict=True)
    weights = read_mix(fields, model)
    grid = fields.flag("grid")
    fields.end()
    texts = await split_texts(list(plain), model, service.limits)
    rows = [marked_tokens(text, span) for text, span in zip(texts, spans, strict=True)]
    if grid:
        check_size(len(texts[0].tokens) * len(texts[1].tokens) * (model.layers + 1), service.limits)
    layers = await service.ask_about(questions.encode, model, texts)  # [L+1, N, W] and [L+1, M, W]
    a, b = (one[:, inside].mean(axis=1, keepdims=True) for one, inside in zip(layers, rows, strict=True))  # [L+1, 1, W]
    answer: Json = {
        "model": model.name,
        "cosines": [float(cosine(x, y)[0, 0]) for x, y in zip(a, b, strict=True)],
        "mix": float(cosine(mixed(a, weights), mixed(b, weights))[0, 0]),
    }
    if grid:
        answer["first"], answer["second"] = (text.to_dict() for text in texts)
        answer["grids"] = [cosine(x, y) for x, y in zip(*layers, strict=True)]  # [L+1][N][M]
        answer["mix_grid"] = cosine(*(mixed(one, weights) for one in layers))
    return json_answer(answer)


async def _similarity_of_contexts(service: Service, fields: Fields, model: ServedModel, by: Readout) -> Response:
    """Two marked words → one number."""
    if fields.has("grid") or fields.has("mix"):
        raise Refusal(422, f'by "{by}", the contexts of two words are compared: there is no grid and no mix')
    first, second = read_places(fields, ("first", "second"), model, service.limits)
    fields.end()
    item = (first, second, by)
    found = await service.ask(questions.similarities, model, item, len(first.tokens) + len(second.tokens))
    return json_answer({"model": model.name, "by": by, "similarity": found})


async def senses(service: Service, fields: Fields) -> Response:
    """A marked word → its sense map."""
    model = service.model(fields)
    place = await read_place(fields, model, service.limits)
    fields.end()
    model.needed_index()
    found = await service.ask(questions.senses, model, place, len(place.tokens))
    return json_answer({"model": model.name, "word": place.tokens[place.begin]} | map_of(found))


async def tag(service: Service, fields: Fields) -> Response:
    """Texts → names, parts of speech and roles, as ``polyseme tag --json`` has them."""
    model = service.model(fields)
    texts = fields.texts("texts", service.limits.texts)
    wanted = fields.texts("tasks", len(model.runs) or 1) if fields.has("tasks") else list(model.runs)
    fields.end()
    if not model.runs:
        raise Refusal(
            422, f"there is no task model for {model.name!r} here; start the server with one: polyseme serve --task RUN"
        )
    if unknown := [name for name in wanted if name not in model.runs]:
        raise Refusal(422, f"there is no task {unknown[0][:40]!r} here; there are: {', '.join(model.runs)}")
    tokens = sum(len(text.tokens) for text in await split_texts(texts, model, service.limits))
    found = await service.ask(questions.tag, model, (tuple(wanted), texts), tokens)
    answers = [{name: value for name, value in record.items() if name != "id"} for record in found]
    return json_answer({"model": model.name, "tasks": wanted, "texts": answers})


#: What can be asked with POST.
QUESTIONS: dict[str, Callable[[Service, Fields], Awaitable[Response]]] = {
    "/encode": encode,
    "/neighbours": neighbours,
    "/substitutes": substitutes,
    "/score": score,
    "/similarity": similarity,
    "/senses": senses,
    "/tag": tag,
}
