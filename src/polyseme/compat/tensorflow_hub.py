"""TensorFlow Hub's ``Module``, called with strings or with padded tokens; its results are arrays.

from polyseme.compat import tensorflow_hub as hub
elmo = hub.Module("https://tfhub.dev/google/elmo/3")
elmo(["the cat is on the mat"], signature="default", as_dict=True)["elmo"]     # [1, 6, W]
elmo({"tokens": [["a", "b"], ["c", ""]], "sequence_len": [2, 1]}, signature="tokens", as_dict=True)["elmo"]

The original is called in a graph and computes when a session runs it; here it computes when it is called. Sentences
start from the state on the model's card, unless ``state`` is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.mixing import mix_weights, mixed
from polyseme.sentence_reader import State

Floats = npt.NDArray[np.float32]


class Module:
    """``Module(spec)``: an address of TensorFlow Hub, the folder of an unpacked module, or any other model."""

    def __init__(
        self,
        spec: str | Path,
        trainable: bool = False,
        name: str = "module",
        tags: object = None,
        *,
        state: State | None = None,
    ) -> None:
        if trainable:
            warnings.warn("this module cannot be trained; use polyseme.ElmoRepresentations in PyTorch", stacklevel=2)
        self.name = name
        self._elmo = Elmo(load(spec), state=state)
        self._mix = _mix(self._elmo.stored)

    def __call__(
        self, inputs: Any, _sentinel: None = None, signature: str = "default", as_dict: bool = False
    ) -> Floats | dict[str, Floats]:
        """A list of strings, split at blanks; with the signature "tokens", a dict of tokens and sequence_len.

        The result is the mean over the tokens of each sentence, [B, W]. ``as_dict``: "word_emb" [B, N, D],
        "lstm_outputs1", … [B, N, W], "elmo" [B, N, W] (their mix), "default" [B, W]; zeros for padding.
        """
        sentences, longest = _sentences(inputs, signature)
        encodings = self._elmo.encode_tokens(sentences)
        layers = np.zeros((len(sentences), self._elmo.config.layers + 1, longest, self._elmo.config.width), np.float32)
        for row, encoding in enumerate(encodings):
            layers[row, :, : len(encoding)] = encoding.layers
        elmo: Floats = mixed(layers.swapaxes(0, 1), self._mix)  # [B, N, W]
        counts = np.array([max(1, len(sentence)) for sentence in sentences], np.float32)
        mean: Floats = elmo.sum(axis=1) / counts[:, None]
        if not as_dict:
            return mean
        outputs = {f"lstm_outputs{number}": layers[:, number] for number in range(1, layers.shape[1])}
        words = layers[:, 0, :, : self._elmo.config.projection]  # both halves are the same
        return {"word_emb": words, **outputs, "elmo": elmo, "default": mean}

    def get_output_info_dict(self, signature: str = "default") -> list[str]:
        """The names of the outputs with ``as_dict``."""
        return list(self({"tokens": [["a"]], "sequence_len": [1]}, signature="tokens", as_dict=True))


def _sentences(inputs: Any, signature: str) -> tuple[list[list[str]], int]:
    """The sentences without their padding, and their length with it."""
    if signature == "default":
        if isinstance(inputs, str | Mapping):
            raise InputError(
                'the signature "default" takes a list of strings; a dict belongs to the signature "tokens"'
            )
        sentences = [_text(line).split() for line in inputs]
        return sentences, max(map(len, sentences), default=0)
    if signature != "tokens":
        raise ConfigError(f"signature is {signature!r}, but should be 'default' or 'tokens'")
    if not (isinstance(inputs, Mapping) and {"tokens", "sequence_len"} <= set(inputs)):
        raise InputError('the signature "tokens" takes a dict with "tokens" and "sequence_len"')
    rows = [[_text(token) for token in row] for row in inputs["tokens"]]
    lengths = [int(length) for length in inputs["sequence_len"]]
    longest = max(map(len, rows), default=0)
    if len(rows) != len(lengths) or not all(0 <= length <= longest for length in lengths):
        raise InputError(f"sequence_len {lengths} does not fit {len(rows)} rows of {longest} tokens")
    for row, length in zip(rows, lengths, strict=True):
        if "" in row[:length]:
            raise InputError(f"{row} has padding ('') within its first {length} tokens; correct its sequence_len")
    return [row[:length] for row, length in zip(rows, lengths, strict=True)], longest


def _text(token: Any) -> str:
    """A token as text: TensorFlow's arrays hold bytes."""
    return token.decode() if isinstance(token, bytes) else str(token)


def _mix(stored: StoredModel) -> tuple[float, ...]:
    """The weight of each layer, from the module's own mix; their mean if it has none."""
    if not stored.mixes:
        return mix_weights(None, stored.config.layers + 1)
    weights = np.exp(np.array(stored.mixes[0].weights) - max(stored.mixes[0].weights))
    return tuple((stored.mixes[0].scale * weights / weights.sum()).tolist())
