"""AllenNLP's character ids: rows of fifty, without sentence boundaries, zeros as padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.errors import ConfigError
from polyseme.formats.bilm_tf import BOUNDARIES
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer

Ids = npt.NDArray[np.int64]
ConfigurationError = ConfigError  #: what AllenNLP raises


class ELMoCharacterMapper:
    """A word → its fifty ids; ``tokens_to_add`` are words with a single id instead of their bytes."""

    max_word_length = 50
    bos_token, eos_token = "<S>", "</S>"

    def __init__(self, tokens_to_add: Mapping[str, int] | None = None) -> None:
        self.tokens_to_add = dict(tokens_to_add or {})
        self._scheme = ByteScheme(self.max_word_length, {**BOUNDARIES, **self.tokens_to_add})

    def convert_word_to_character_ids(self, word: str) -> list[int]:
        return self._scheme.row(word)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ELMoCharacterMapper) and self.tokens_to_add == other.tokens_to_add

    __hash__ = None  # type: ignore[assignment]


def character_ids(batch: Sequence[Sequence[str]], scheme: ByteScheme) -> Ids:
    """[B, N, M], padded with zeros on the right."""
    ids = np.zeros((len(batch), max(map(len, batch), default=0), scheme.max_characters), np.int64)
    for row, sentence in enumerate(batch):
        for column, token in enumerate(sentence):
            ids[row, column] = scheme.row(token)
    return ids


def load_characters(options_file: str | Path, weight_file: str | Path) -> tuple[StoredModel, ByteScheme]:
    """Load a model from its two files, each a path or an address; its tokens are read as AllenNLP reads them."""
    stored = load(weight_file, options=options_file)
    if stored.config.characters is None:
        raise ConfigError(f"{weight_file} looks words up, and AllenNLP's classes read characters; use polyseme.Elmo")
    scheme = ByteScheme(stored.config.characters.max_characters, BOUNDARIES)
    return replace(stored, indexer=Indexer(characters=scheme)), scheme
