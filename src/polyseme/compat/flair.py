"""flair's ELMoEmbeddings, as one of its TokenEmbeddings: it works alone and inside StackedEmbeddings.

from flair.data import Sentence
from polyseme.compat.flair import ELMoEmbeddings
sentence = Sentence("The grass is green .")
ELMoEmbeddings("original").embed(sentence)
sentence[1].embedding                       # three layers side by side

The original carries state from call to call. flair keeps a sentence's vectors, so here too the first reading counts.
Needs the extra ``flair``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from polyseme.compat.carried import CarriedReading
from polyseme.errors import ConfigError
from polyseme.extras import needing
from polyseme.formats.detect import load

with needing("polyseme.compat.flair", "flair"):
    import flair
    from flair.data import Sentence
    from flair.embeddings.base import TokenEmbeddings, register_embeddings

if TYPE_CHECKING:
    from polyseme.encoding import Floats

EmbeddingMode = Literal["all", "top", "average"]


@register_embeddings("polyseme.ELMoEmbeddings")  # flair's own class of that name is registered too
class ELMoEmbeddings(TokenEmbeddings):  # type: ignore[misc]
    """``model``: a name ("original", "small", "5.5B", "pt", "pubmed"), or any other model; or its two files."""

    def __init__(
        self,
        model: str | Path = "original",
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        embedding_mode: EmbeddingMode = "all",
    ) -> None:
        if embedding_mode not in get_args(EmbeddingMode):
            raise ConfigError(f"embedding_mode is {embedding_mode!r}, but should be 'all', 'top' or 'average'")
        if (options_file is None) != (weight_file is None):
            raise ConfigError("options_file and weight_file belong together; give both or neither")
        stored = load(model) if weight_file is None else load(weight_file, options=options_file)
        files = {} if weight_file is None else {"options_file": str(options_file), "weight_file": str(weight_file)}
        self._given = {"model": str(model), **files, "embedding_mode": embedding_mode}
        self.name, self.static_embeddings, self.embedding_mode = f"elmo-{model}", True, embedding_mode
        self._reading = CarriedReading(stored, str(flair.device))
        layers = stored.config.layers + 1 if embedding_mode == "all" else 1
        self._length = layers * stored.config.width
        super().__init__()

    @property
    def embedding_length(self) -> int:
        return self._length

    def _add_embeddings_internal(self, sentences: list[Sentence]) -> list[Sentence]:
        for sentence, layers in zip(sentences, self._reading.read([_words(one) for one in sentences]), strict=True):
            vectors = torch.from_numpy(_side_by_side(layers, self.embedding_mode)).to(flair.device)
            for token, vector in zip(sentence, vectors, strict=True):
                token.set_embedding(self.name, vector)
        return sentences

    def extra_repr(self) -> str:
        return f"model={self.name}"

    def __str__(self) -> str:
        return self.name

    def to_params(self) -> dict[str, Any]:
        """What a saved flair model stores of these embeddings: where the biLM is, not its weights."""
        return {**self._given, "name": self.name}  # a stack puts a number before the name, and looks it up again

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> ELMoEmbeddings:
        embeddings = cls(**{key: value for key, value in params.items() if key != "name"})
        embeddings.name = params["name"]
        return embeddings


def _words(sentence: Sentence) -> list[str]:
    return [token.text for token in sentence]


def _side_by_side(layers: Floats, mode: EmbeddingMode) -> Floats:
    """[L+1, N, W] → [N, (L+1)·W], or [N, W]."""
    if mode == "all":
        return np.concatenate(list(layers), axis=1)
    chosen: Floats = layers[-1] if mode == "top" else layers.mean(axis=0)
    return chosen
