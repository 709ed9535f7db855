"""The API as OpenAPI 3.1, for programs that read it: /openapi.json.

One table says what each question takes and answers. Limits, layers and names of models are those of the server that is
asked, so that whoever keeps to the description is not refused for a field.
"""

from __future__ import annotations

from typing import Any, get_args

from polyseme import __version__
from polyseme.senses.uses import Readout
from polyseme.serve.api import MOST_WORDS
from polyseme.serve.limits import Limits
from polyseme.serve.listening import Listening
from polyseme.serve.served import Models

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
MAYBE: Schema = {"type": ["number", "null"]}
SPAN: Schema = {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}
REFUSALS = {
    400: "The body is not valid JSON.",
    401: "The token is missing or wrong.",
    403: "The request was sent to a host name other than localhost.",
    404: "There is no such model (OpenAI's paths).",
    408: "The body did not arrive in time.",
    413: "The request or its answer is too large.",
    415: "The content type is not JSON.",
    422: "A field is missing, unknown or wrong, or the request cannot be answered.",
    429: "This client sends too many requests.",
    500: "The server failed.",
    503: "The queue is full, or the index is still being built.",
    504: "The answer took too long.",
}


def many(items: Schema, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": 1, **({"maxItems": most} if most else {})}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(required: str = "", /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def describe_api(models: Models, where: Listening, limits: Limits) -> Schema:
    """The whole description."""
    paths = {path: {"post": _operation(path, *parts)} for path, parts in _questions(models, limits).items()}
    paths |= {path: {"get": _operation(path, said, None, answer)} for path, (said, answer) in _gets().items()}
    maybe: Schema = {"type": ["string", "null"]}
    said = record("message type", message=TEXT, type=TEXT, param=maybe, code=maybe)
    openai_error = record("error", error=said)
    found: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "polyseme",
            "version": __version__,
            "description": "Contextual word vectors from bidirectional language models (ELMo).",
        },
        "servers": [{"url": where.root_path or "/"}],
        "paths": paths,
        "components": {"schemas": {"Error": record("error", error=TEXT), "OpenAIError": openai_error}},
    }
    if where.token is not None:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _questions(models: Models, limits: Limits) -> dict[str, tuple[str, Schema, Schema]]:
    """Path → what it does, what it takes, what it answers."""
    named: Schema = {"model": {"enum": [one.name for one in models]}}
    layers = models.default.layers
    weights: Schema = {
        "mix": {
            "type": ["array", "null"],
            "items": {"type": "number", "exclusiveMinimum": -1e6, "exclusiveMaximum": 1e6},
        }
    }
    if all(one.layers == layers for one in models):
        weights["mix"] |= {"minItems": layers, "maxItems": layers}
    layer: Schema = {"enum": ["mix", "top", *range(layers)]}
    texts: Schema = {"texts": many(TEXT, limits.texts), "tokens": many(many(TEXT), limits.texts)}
    place: Schema = {"text": TEXT, "tokens": many(TEXT), "position": {"type": "integer", "minimum": 0}}
    k: Schema = {"k": {"type": "integer", "minimum": 1, "maximum": MOST_WORDS}}
    split: Schema = {"tokens": listed(TEXT), "offsets": listed(SPAN), "sentences": listed(SPAN)}
    vectors: Schema = {"vectors": listed({"type": "array"}), "vector": {"type": "array"}}
    said = listed(MAYBE)
    scores: Schema = {"forward": said, "backward": either(said, {"type": "null"}), "ends": said}
    scores |= {"entropy": said, "backward_entropy": either(said, {"type": "null"})}
    scores |= {"begins": either(said, {"type": "null"}), "unknown": listed(FLAG), "perplexities": listed(said)}
    occurrence: Schema = {"word": TEXT, "text": TEXT, "span": SPAN, "source": TEXT, "document": {}}
    either_texts: Schema = {"oneOf": [{"required": ["texts"]}, {"required": ["tokens"]}]}
    either_place: Schema = {"oneOf": [{"required": ["text"]}, {"required": ["tokens", "position"]}]}
    points = listed(listed(NUMBER))
    by_sense = record("here points same cross", here=listed(NUMBER), points=points, same=MAYBE, cross=MAYBE)
    tasks = sorted({name for one in models for name in one.runs})
    return {
        "/encode": (
            "Turn texts or tokens into vectors.",
            record(
                **named, **texts, **weights, layers={"enum": ["mix", "top", "all", *range(layers)]},
                pool={"enum": ["none", "mean"]}, format={"enum": ["json", "npy"]},
            ) | either_texts,
            record("model texts", model=TEXT, texts=listed(record("tokens offsets sentences", **split, **vectors))),
        ),
        "/score": (
            "The log-probability of every token, read forward and backward.",
            record(**named, **texts) | either_texts,
            record("model texts", model=TEXT, texts=listed(record("tokens forward unknown", **split, **scores))),
        ),
        "/substitutes": (
            "Words that could replace a word.",
            record(
                **named, **place, **k, direction={"enum": ["both", "forward", "backward"]}, exclude_original=FLAG
            ) | either_place,
            record(
                "model substitutes", model=TEXT,
                substitutes=listed(
                    record("word probability", word=TEXT, probability=NUMBER, forward=MAYBE, backward=MAYBE)
                ),
            ),
        ),
        "/neighbours": (
            "The nearest occurrences in the index.",
            record(
                **named, **place, **k, **weights, layer=layer, same_word=FLAG, by={"enum": ["word", "sense"]}
            ) | either_place,
            record(
                "model neighbours", model=TEXT,
                neighbours=listed(record("similarity word", similarity=NUMBER, **occurrence)),
            ),
        ),
        "/similarity": (
            "The cosine of two words or texts, layer by layer; or how alike two words are by their contexts.",
            record(
                "first second", **named, first=TEXT, second=TEXT, **weights, grid=FLAG,
                by={"enum": [*get_args(Readout)]},
            ),
            either(
                record(
                    "model cosines mix", model=TEXT, cosines=listed(NUMBER), mix=NUMBER, first=record(**split),
                    second=record(**split), grids=listed(points), mix_grid=points,
                ),
                record("model by similarity", model=TEXT, by=TEXT, similarity=NUMBER),
            ),
        ),
        "/senses": (
            "The sense map of a word.",
            record(**named, **place) | either_place,
            record(
                "model word total points groups names occurrences", model=TEXT, word=TEXT, total=WHOLE,
                here=either(points, {"type": "null"}), group={"type": ["integer", "null"]}, points=listed(points),
                groups=listed(WHOLE), names=listed(listed(TEXT)), clearest=listed(WHOLE), same=listed(MAYBE),
                cross=listed(MAYBE), sense=either(by_sense, {"type": "null"}),
                occurrences=listed(record("word text", **occurrence)),
            ),
        ),
        "/tag": (
            "Names, parts of speech and roles of texts, by task models.",
            record("texts", **named, texts=many(TEXT, limits.texts), tasks=many({"enum": tasks} if tasks else TEXT)),
            record(
                "model tasks texts", model=TEXT, tasks=listed(TEXT),
                texts=listed(record("text sentences", text=TEXT, sentences=listed({"type": "object"}))),
            ),
        ),
        "/v1/embeddings": (
            "Vectors of texts, for OpenAI's clients.",
            record(
                "input", **named, input=either(TEXT, many(TEXT, limits.texts)), user=TEXT,
                encoding_format={"enum": ["float", "base64"]}, dimensions={"const": models.default.elmo.config.width},
            ),
            record(
                "object data model usage", object={"const": "list"}, model=TEXT,
                data=listed(
                    record("object index embedding", object=TEXT, index=WHOLE, embedding=either(listed(NUMBER), TEXT))
                ),
                usage=record("prompt_tokens total_tokens", prompt_tokens=WHOLE, total_tokens=WHOLE),
            ),
        ),
        "/embed": (
            "Vectors of texts by the first model, for clients of text-embeddings-inference.",
            record(
                "inputs", inputs=either(TEXT, many(TEXT, limits.texts)), normalize=FLAG, truncate=FLAG,
                truncation_direction=TEXT, prompt_name=TEXT,
            ),
            listed(listed(NUMBER)),
        ),
    }  # fmt: skip


def _gets() -> dict[str, tuple[str, Schema]]:
    return {
        "/models": (
            "The models, their tasks, and whether their indexes are ready.",
            record("models", models=listed({"type": "object"})),
        ),
        "/health": ("The server is running.", record("status version", status=TEXT, version=TEXT)),
        "/v1/models": (
            "The models, for OpenAI's clients.",
            record("object data", object=TEXT, data={"type": "array"}),
        ),
        "/info": (
            "The model and its limits, for clients of text-embeddings-inference.",
            {"type": "object", "required": ["model_id"]},
        ),
    }


def _operation(path: str, said: str, takes: Schema | None, answers: Schema) -> Schema:
    answer: Schema = {"application/json": {"schema": answers}}
    if path == "/encode":
        answer["application/x-npy"] = {}
    error = "OpenAIError" if path.startswith("/v1/") else "Error"
    refusal = {"application/json": {"schema": {"$ref": f"#/components/schemas/{error}"}}}
    found: Schema = {
        "operationId": path.strip("/").replace("/", "_"),
        "summary": said,
        "responses": {"200": {"description": "The answer.", "content": answer}}
        | {str(status): {"description": why, "content": refusal} for status, why in REFUSALS.items()},
    }
    if takes is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": takes}}}
    return found
