"""A model as it leaves the disk, whatever format it came in, and its fingerprint.

The fingerprint is equal for models that give equal vectors, and the same in every version of polyseme:

    "1:" and the sha256 of:  what differs from the defaults of network and indexer, as canonical JSON
                             for each tensor, by name:  its name and shape as JSON, its values as little-endian float32

The number in front is that of the scheme; whoever changes what is hashed gives it the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyseme.bilm_config import BiLMConfig
from polyseme.formats.arrays import Floats
from polyseme.jobs.manifests import canonical
from polyseme.text.indexing import Indexer
from polyseme.text.vocabulary import Vocabulary

#: The number of the way in which fingerprints are made.
SCHEME = 1


@dataclass(frozen=True, slots=True)
class MixWeights:
    """A scalar mix that was trained with the model: ``weights`` before the softmax, and the scale."""

    weights: tuple[float, ...]
    scale: float
    layer_norm: bool = False  #: over the whole batch with its boundaries, as AllenNLP does it


@dataclass(frozen=True, slots=True)
class OutputProjection:
    """A linear map that a task learned on top of the mix: ``x @ weight.T + bias``."""

    weight: Floats  # [anything, W]
    bias: Floats


@dataclass(frozen=True, slots=True)
class ClusterWeights:
    """What the head of an adaptive softmax knows of its clusters (``polyseme.nn.adaptive``)."""

    cutoffs: tuple[int, ...]  #: first word of each cluster
    weight: Floats  # [clusters, D]
    bias: Floats  # [clusters]


@dataclass(frozen=True, slots=True)
class SoftmaxWeights:
    """The output layer of a language model, shared by both directions; row v belongs to word v."""

    weight: Floats  # [V, D]
    bias: Floats  # [V]
    clusters: ClusterWeights | None = None  #: of an adaptive softmax


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A biLM and all that belongs to it: the common form between every format, the engine and the network."""

    config: BiLMConfig
    tensors: Mapping[str, Floats]  #: float32, by the parameter names of ``BiLM``
    indexer: Indexer
    vocabulary: Vocabulary | None = None  #: the words of the softmax, or of the format's vocabulary file
    softmax: SoftmaxWeights | None = None
    mixes: tuple[MixWeights, ...] = ()
    output_projection: OutputProjection | None = None
    card: Mapping[str, Any] = field(default_factory=dict)  #: name, languages, licence, tokenisation, state, …
    format: str = "native"  #: the title of the format it was read from
    digests: int = 0  #: of tensors and lists that the loader has compared with what was saved

    def fingerprint(self) -> str:
        """A digest of settings, alphabets and weights: equal for models that give equal vectors."""
        return model_fingerprint(self.config, self.indexer, self.tensors)


def model_fingerprint(config: BiLMConfig, indexer: Indexer, tensors: Mapping[str, Floats]) -> str:
    scheme = indexer.characters.SCHEME if indexer.characters else None
    found = hashlib.sha256(canonical({"network": config, "indexer": indexer, "scheme": scheme}))
    for name in sorted(tensors):
        values = np.ascontiguousarray(tensors[name], np.dtype("<f4"))
        found.update(canonical([name, tensors[name].shape]))
        found.update(values.reshape(-1).view(np.uint8).data)
    return f"{SCHEME}:{found.hexdigest()}"
