"""Answers as JSON, or as an array in NumPy's own format."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from starlette.responses import Response

from polyseme.encoding import Floats
from polyseme.lm.scoring import Score
from polyseme.mixing import mix_weights, mixed
from polyseme.senses.nearest import Near, cosine
from polyseme.senses.sense_map import SenseMap
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.questions import Mapped

Json = dict[str, Any]

JSON_NUMBER, NPY_NUMBER = 11, 4  #: bytes of a number in an answer: "-0.0123456," and float32


def json_answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = orjson.dumps(content, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers, "application/json")


def check_size(numbers: int, limits: Limits, bytes_each: int = JSON_NUMBER) -> None:
    """Refuse what would be too large an answer, before it is computed."""
    if numbers * bytes_each > limits.answer_bytes:
        raise Refusal(
            413,
            f"the answer would have {numbers:,} numbers, some {numbers * bytes_each // 1_000_000} MB, but it may have "
            f"{limits.answer_bytes // 1_000_000} MB; send less at once",
        )


def npy_answer(array: Floats, counts: Sequence[int]) -> Response:
    """One array of all texts; a header tells how many tokens each has."""
    file = io.BytesIO()
    np.save(file, array)
    headers = {"Polyseme-Tokens": ",".join(map(str, counts))}
    return Response(file.getvalue(), 200, headers, "application/x-npy")


def refused(refusal: Refusal, path: str = "") -> Response:
    """One sentence; clients of /v1 look for it one level deeper."""
    error: object = refusal.sentence
    if path.startswith("/v1/"):
        code = "model_not_found" if refusal.status == 404 else None
        error = {"message": refusal.sentence, "type": "invalid_request_error", "param": None, "code": code}
    return json_answer({"error": error}, refusal.status, refusal.headers)


def chosen_layers(layers: Floats, wanted: str | int, weights: Sequence[float]) -> Floats:
    """[L+1, N, W] → [N, W], or all of them."""
    if wanted == "all":
        return layers
    return mixed(layers, weights if wanted == "mix" else mix_weights(wanted, len(layers)))


def scores_of(sentences: list[Score]) -> Json:
    """Of one text: arrays over its tokens, and one value for each of its sentences.

    ``forward`` and ``backward`` are null where ``unknown`` is true: the model does not know the word.
    """
    two_ways = all(one.backward is not None for one in sentences)
    totals = [one.total for one in sentences]
    return {
        "unknown": _joined([one.unknown for one in sentences]),
        "forward": _joined([one.forward for one in sentences]),
        "backward": _joined([one.backward for one in sentences]) if two_ways else None,
        "entropy": _joined([one.entropy for one in sentences]),
        "backward_entropy": _joined([one.backward_entropy for one in sentences]) if two_ways else None,
        "ends": _joined([one.ends for one in sentences]),
        "begins": _joined([one.begins for one in sentences]) if two_ways else None,
        "perplexities": [[_finite(value) for value in total.perplexities] for total in totals],
    }


def near_of(one: Near) -> Json:
    return {"similarity": one.similarity} | _occurrence(one.occurrence)


def map_of(found: Mapped) -> Json:
    senses = found.senses
    if senses is None:
        empty: Json = {"points": [], "groups": [], "names": [], "clearest": [], "same": [], "cross": [], "sense": None}
        return {"total": 0, "here": None, "group": None, **empty, "occurrences": []}
    layers = [cosine(layer, layer) for layer in senses.uses.word]  # [n, n] each
    same, cross = _mean_similarities(senses, layers)
    [same_sense], [cross_sense] = _mean_similarities(senses, [senses.uses.similarities(senses.uses, "sense")])
    rows = {id(one): number for number, one in enumerate(senses.occurrences)}
    return {
        "total": senses.total,
        "here": found.here,  # [L+1][2]
        "group": found.group,
        "points": senses.points,  # [L+1][n][2]
        "groups": senses.labels,
        "names": [group.names for group in senses.groups],
        "clearest": [rows[id(group.occurrences[0])] for group in senses.groups],
        "same": same,  # [L+1]
        "cross": cross,  # [L+1]
        "sense": {
            "here": found.sense_here,  # [2]
            "points": senses.sense_points,  # [n][2]
            "same": same_sense,
            "cross": cross_sense,
        },
        "occurrences": [_occurrence(one) for one in senses.occurrences],
    }


def _mean_similarities(
    senses: SenseMap, similarities: Sequence[Floats]
) -> tuple[list[float | None], list[float | None]]:
    """Of two occurrences in one group, and of two in different groups, for each [n, n]; None where there is no pair."""
    alike = senses.labels[:, None] == senses.labels  # [n, n]
    pairs = np.triu(np.ones_like(alike), 1)
    within, across = alike & pairs, ~alike & pairs
    return tuple([float(one[of].mean()) if of.any() else None for one in similarities] for of in (within, across))  # type: ignore[return-value]


def _occurrence(one: Any) -> Json:
    return {"word": one.word, "text": one.text, "span": one.span, "source": one.source, "document": one.document}


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else []


def _finite(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """What orjson does not know: numbers of NumPy, and arrays that are not laid out row by row."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON")
