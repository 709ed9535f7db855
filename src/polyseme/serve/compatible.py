"""The questions that other programs know how to ask: OpenAI's embeddings, and text-embeddings-inference's.

A text's vector is the mean of its tokens in the model's mix of layers, as ``/encode`` has it with ``"pool": "mean"``.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from starlette.responses import Response

from polyseme import __version__
from polyseme.encoding import Floats, unit
from polyseme.mixing import mixed
from polyseme.serve import questions
from polyseme.serve.answers import check_size, json_answer
from polyseme.serve.api import Service
from polyseme.serve.arguments import split_texts
from polyseme.serve.fields import Fields
from polyseme.serve.limits import Refusal
from polyseme.serve.served import Models, ServedModel

#: What an OpenAI client may send that changes nothing here.
IGNORED_BY_OPENAI = ("user",)
IGNORED_BY_TEI = ("truncation_direction", "prompt_name")


async def openai_embeddings(service: Service, fields: Fields) -> Response:
    """``POST /v1/embeddings``"""
    model = _named_model(service, fields)
    form = fields.choice("encoding_format", ("float", "base64"), "float")
    if fields.has("dimensions") and fields.number("dimensions", 1, 1 << 20) != model.elmo.config.width:
        width = model.elmo.config.width
        raise Refusal(422, f"the vectors of {model.name!r} have {width} numbers and cannot be made shorter")
    vectors, tokens = await _vectors(service, fields, model, "input", IGNORED_BY_OPENAI)
    data = [
        {"object": "embedding", "index": number, "embedding": _base64(vector) if form == "base64" else vector}
        for number, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_answer({"object": "list", "data": data, "model": model.name, "usage": usage})


def _named_model(service: Service, fields: Fields) -> ServedModel:
    """The model of a request; OpenAI answers 404 where there is none of this name."""
    name = fields.text("model", service.models.default.name)
    try:
        return service.models.find(name)
    except Refusal as refusal:
        raise Refusal(404, refusal.sentence) from None


async def tei_embed(service: Service, fields: Fields) -> Response:
    """``POST /embed``"""
    model = service.models.default
    normalize = fields.flag("normalize", default=True)
    fields.flag("truncate")  # nothing is cut off: a text that is too long is refused
    vectors, _ = await _vectors(service, fields, model, "inputs", IGNORED_BY_TEI)
    return json_answer([unit(vector[None])[0] for vector in vectors] if normalize else list(vectors))


def openai_models(models: Models) -> dict[str, Any]:
    """``GET /v1/models``"""
    data = [{"id": one.name, "object": "model", "created": 0, "owned_by": "polyseme"} for one in models]
    return {"object": "list", "data": data}


def tei_info(service: Service) -> dict[str, Any]:
    """``GET /info``"""
    model, limits = service.models.default, service.limits
    return {
        "model_id": model.name,
        "model_dtype": "float32",
        "model_type": {"embedding": {"pooling": "mean"}},
        "max_concurrent_requests": limits.waiting,
        "max_input_length": limits.tokens,
        "max_batch_tokens": limits.tokens,
        "max_client_batch_size": limits.texts,
        "version": __version__,
    }


async def _vectors(
    service: Service, fields: Fields, model: ServedModel, name: str, ignored: tuple[str, ...]
) -> tuple[Floats, int]:
    """The texts of a field → their vectors [n, W], and how many tokens were read."""
    texts = fields.text_or_texts(name, service.limits.texts)
    for one in ignored:
        fields.text(one, "")
    fields.end()
    check_size(len(texts) * model.elmo.config.width, service.limits)
    split = await split_texts(texts, model, service.limits)
    found = await service.ask_about(questions.encode, model, split)
    vectors = [mixed(layers, model.elmo.mix) for layers in found]  # [N, W] each
    means = np.stack([one.sum(axis=0) / max(1, len(one)) for one in vectors])
    return means, sum(len(text.tokens) for text in split)


def _base64(vector: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode()
