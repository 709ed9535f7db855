"""The card of a model (README.md with the front matter that model hubs read), its facts, and checks of its weights.

The machine-readable fields are in config.json; README.md is written from them and never read back. Fields: ``name``,
``languages`` (codes), ``licence``, ``description``, ``tokenization``, ``unit`` (if tokens are not words: "morpheme"),
``training``, and any that a model adds.
A field with nested fields, or a list of them, becomes a section.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyseme.bilm_config import BiLMConfig
from polyseme.formats.arrays import parameter_shapes
from polyseme.formats.model import StoredModel
from polyseme.formats.names import CHARACTER_TABLE, WORD_TABLE
from polyseme.text.characters import ByteScheme

#: Fields whose names alone would not be understood.
_TITLES = {"goes_on_from": "continues from", "recipe_of_the_last": "the recipe below is for the last"}

_EXAMPLE = """\
```python
from polyseme import Elmo

elmo = Elmo.from_pretrained("{address}")
encoding = elmo.encode("A text in a language that the model knows.")
encoding.tokens, encoding.vectors  # one vector for each token
```
"""


def card_text(model: StoredModel, address: str = "path/of/this/folder") -> str:
    """README.md for a model that is loaded from ``address``."""
    name = str(model.card.get("name") or "A biLM")
    parts = [_front_matter(model), f"# {name}\n"]
    if description := model.card.get("description"):
        parts.append(f"{description}\n")
    parts.append(f"A bidirectional language model for contextual word vectors, {_shape(model)}.\n")
    parts.append(_EXAMPLE.format(address=address))
    rest = {key: value for key, value in model.card.items() if key not in ("name", "description")}
    parts.append(_fields({key: value for key, value in rest.items() if not _is_section(value)}))
    parts += [_section(key, value) for key, value in rest.items() if _is_section(value)]
    return "\n".join(part for part in parts if part)


def parameter_count(config: BiLMConfig) -> int:
    """The number of weights as the original counts them: without padding rows, softmax and mixes."""
    total = 0
    for name, shape in parameter_shapes(config).items():
        rows, *rest = shape
        if name.endswith(("characters.embedding.weight", "words.weight")):
            rows -= 1
        size = rows
        for number in rest:
            size *= number
        total += size
    return total


def _front_matter(model: StoredModel) -> str:
    fields: dict[str, Any] = {"library_name": "polyseme", "tags": ["polyseme", "elmo"]}
    fields["pipeline_tag"] = "feature-extraction"
    fields["inference"] = False  # a hub cannot run polyseme, so its page should not offer to try it
    if languages := model.card.get("languages"):
        fields["language"] = languages
    if licence := model.card.get("licence"):
        fields["license"] = str(licence).lower()
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]  # JSON is YAML
    return "\n".join(["---", *lines, "---"]) + "\n"


def _shape(model: StoredModel) -> str:
    config = model.config
    size = f"{config.layers} layers of {config.cell} cells, {config.width} values a layer"
    return f"{size}, {parameter_count(config):,} weights"


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(one, Mapping) for one in value))


def _section(title: str, value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    text = _fields(value) if isinstance(value, Mapping) else _table(value)
    return f"## {_spoken(title)}\n\n{text}"


def _fields(fields: Mapping[str, Any]) -> str:
    """A list of the short fields; nested ones follow as JSON."""
    short = {key: value for key, value in fields.items() if not _has_levels(value)}
    lines = "".join(f"- {_words(key)}: {_plain(value)}\n" for key, value in short.items())
    rest = {key: value for key, value in fields.items() if key not in short}
    blocks = [
        f"{_spoken(key)}:\n\n```json\n{json.dumps(value, ensure_ascii=False)}\n```\n" for key, value in rest.items()
    ]
    return "\n".join([lines, *blocks] if lines else blocks)


def _has_levels(value: Any) -> bool:
    if isinstance(value, list):
        return _is_section(value)
    return isinstance(value, Mapping) and any(isinstance(one, Mapping | list) for one in value.values())


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [
        map(_spoken, columns),
        ["---"] * len(columns),
        *([_plain(row.get(c, "")) for c in columns] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _spoken(key: str) -> str:
    words = _words(key)
    return words[:1].upper() + words[1:]


def _words(key: str) -> str:
    return _TITLES.get(key, key.replace("_", " "))


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(key)} {_plain(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def describe(model: StoredModel) -> dict[str, Any]:
    """The facts of a model as plain values, in the order in which they are shown."""
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
    """Properties that every model should have, and whether it has them."""
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
