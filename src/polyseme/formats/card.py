"""The model card: README.md with the front matter that model hubs read.

The machine-readable fields live in config.json; this file is written from them and never read back. Fields:
``name``, ``languages`` (codes), ``licence``, ``description``, ``tokenization``, ``training``, and what a model adds.
"""

from __future__ import annotations

import json
from typing import Any

from polyseme.formats.model import StoredModel
from polyseme.formats.shapes import parameter_shapes
from polyseme.nn.config import BiLMConfig


def card_text(model: StoredModel) -> str:
    """README.md of a model."""
    name = str(model.card.get("name") or "A biLM")
    parts = [_front_matter(model), f"# {name}\n"]
    if description := model.card.get("description"):
        parts.append(f"{description}\n")
    parts.append(f"A bidirectional language model for contextual word vectors, {_shape(model)}.\n")
    parts.append('```python\nfrom polyseme import Elmo\n\nelmo = Elmo.from_pretrained("path/of/this/folder")\n```\n')
    rest = {key: value for key, value in model.card.items() if key not in ("name", "description")}
    parts.append("".join(f"- {key}: {_plain(value)}\n" for key, value in rest.items()))
    return "\n".join(part for part in parts if part)


def parameter_count(config: BiLMConfig) -> int:
    """Weights of the network as the original counts them: without padding rows, softmax and mixes."""
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


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
