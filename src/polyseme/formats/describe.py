"""What there is to say of a model: its shape, its parts, and whether its weights are sound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polyseme.formats.card import parameter_count
from polyseme.formats.model import StoredModel
from polyseme.formats.names import CHARACTER_TABLE, WORD_TABLE
from polyseme.text.characters import ByteScheme


def describe(model: StoredModel) -> dict[str, Any]:
    """Plain values, in the order in which they are shown."""
    config, card = model.config, model.card
    return {
        "name": card.get("name"),
        "format": model.format,
        "languages": card.get("languages"),
        "licence": card.get("licence"),
        "parameters": parameter_count(config),
        "layers": config.layers,
        "directions": config.directions,
        "cell": config.cell,
        "projection": config.projection,
        "width": config.width,
        "cell_clip": config.cell_clip,
        "projection_clip": config.projection_clip if config.has_projection else None,
        "skip_connections": config.skip_connections,
        "reads": _reads(model),
        "character_cnn": _character_cnn(model),
        "vocabulary": None if model.vocabulary is None else len(model.vocabulary),
        "softmax": None if model.softmax is None else list(model.softmax.weight.shape),
        "mixes": [{"weights": list(m.weights), "scale": m.scale, "layer_norm": m.layer_norm} for m in model.mixes],
        "output_projection": None if model.output_projection is None else list(model.output_projection.weight.shape),
        "assumed": card.get("assumed"),
        "fingerprint": model.fingerprint(),
        "checks": dict(checks(model)),
    }


def checks(model: StoredModel) -> Iterator[tuple[str, bool]]:
    """What should be true of every model, and whether it is."""
    yield "all weights are finite", all(bool(np.isfinite(x).all()) for x in model.tensors.values())
    tables = [model.tensors[name] for name in (CHARACTER_TABLE, WORD_TABLE) if name in model.tensors]
    yield "the row of padding is zero", all(not table[0].any() for table in tables)
    if model.softmax is not None:
        sound = bool(np.isfinite(model.softmax.weight).all() and np.isfinite(model.softmax.bias).all())
        yield "the softmax is finite", sound
        words = -1 if model.vocabulary is None else len(model.vocabulary)
        yield "the softmax has a row for every word of the vocabulary", words == len(model.softmax.bias)


def _reads(model: StoredModel) -> str:
    parts = []
    characters, words = model.indexer.characters, model.indexer.words
    if words is not None:
        parts.append(f"words, of a table of {len(words.ids):,}")
    if isinstance(characters, ByteScheme):
        parts.append(f"bytes, at most {characters.max_characters - 2} of a token")
    elif characters is not None:
        parts.append(
            f"characters, at most {characters.max_characters - 2} of a token, of a table of {len(characters.ids):,}"
        )
    return " and ".join(parts)


def _character_cnn(model: StoredModel) -> dict[str, Any] | None:
    characters = model.config.characters
    if characters is None:
        return None
    return {
        "dim": characters.dim,
        "filters": [list(pair) for pair in characters.filters],
        "highways": characters.highways,
        "activation": characters.activation,
    }
