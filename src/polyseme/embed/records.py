"""One entry of an embedding file: a sentence, a pooled document or a target word, with its vectors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError

Layers = Literal["all", "top", "average"]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Record:
    """``values`` holds what was asked for, in the type of the file.

                      every layer       top or average
    a sentence        [L+1, N, W]       [N, W]
    a pooled document [L+1, W]          [W]
    a target word     [L+1, W]          [W]
    """

    document: int  # number of the document among all inputs, from 0
    id: str  # of the document within its file
    source: str  # the file's name as given
    sentence: int  # number of the sentence within its document
    start: int  # where the text begins within its document's text
    text: str
    tokens: list[str]
    offsets: NDArray[np.int32]  # [N, 2] into the text
    values: Floats
    has_layers: bool  # whether the first axis of values are the layers
    position: int | None = None  # of the target word among the tokens
    described: str | None = field(default=None, compare=False, repr=False)  # all but the values, where it was read

    @property
    def layers(self) -> Floats:
        """Every layer, if the file has them."""
        if not self.has_layers:
            raise InputError("this file holds one vector for each token, not every layer; embed with --layers all")
        return self.values

    @property
    def vectors(self) -> Floats:
        """One vector for each token (pooled, or for a target word: one): the file's, or the mean of its layers."""
        return self.values.mean(axis=0, dtype=np.float32) if self.has_layers else self.values

    @property
    def word(self) -> str | None:
        """The target word as it stands in the text, if this is the record of one."""
        return None if self.position is None else self.tokens[self.position]


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DESCRIBED = ("document", "id", "source", "sentence", "start", "text", "tokens", "has_layers", "position")


def describe(record: Record) -> str:
    """Everything but the values, as one line of JSON: parts, HDF5 and .npz keep it in this form."""
    if record.described is not None:
        return record.described
    fields = {name: getattr(record, name) for name in _DESCRIBED}
    fields["offsets"] = record.offsets.ravel().tolist()
    return _compact.encode(fields)


def from_description(described: str | bytes, values: Floats) -> Record:
    """The record that `describe` described."""
    text = described if isinstance(described, str) else described.decode()
    fields = json.loads(text)
    fields["offsets"] = np.array(fields["offsets"], np.int32).reshape(-1, 2)
    return Record(**fields, values=values, described=text)


def choose_layers(layers: Floats, which: Layers) -> Floats:
    """[L+1, …, W] → the same, its last layer, or the plain mean of all (as AllenNLP's ``--average``)."""
    if which == "all":
        return layers
    chosen: Floats = layers[-1] if which == "top" else layers.mean(axis=0)
    return chosen
