"""A model as loaded from disk, from any format: settings, tensors, output layer and fingerprint.

Models that give equal vectors have equal fingerprints, in every version of polyseme:

    "1:" and the sha256 of:  settings of network and indexer that differ from the defaults, as canonical JSON
                             for each tensor, by name:  its name and shape as JSON, its values as little-endian float32

The number in front is that of the scheme; any change to what is hashed needs a new number.

The tensors of a large model can be released from memory and read again from disk. The engine packs weights into its own
form, possibly with fewer bits. After that the original tensors are rarely needed: to compute a fingerprint, to convert
the model, or for PyTorch.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.errors import ConfigError, FormatError
from polyseme.formats.arrays import Floats
from polyseme.jobs.atomic import folder_when_complete
from polyseme.jobs.manifests import canonical
from polyseme.text.vocabulary import SPECIALS, Indexer, Vocabulary

#: The number of the fingerprint scheme.
SCHEME = 1
#: Smaller models stay in memory: reading them again would cost more than it saves.
WORTH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class MixWeights:
    """A scalar mix trained with the model: ``weights`` before the softmax, and the scale."""

    weights: tuple[float, ...]
    scale: float
    layer_norm: bool = False  #: over the whole batch with its boundaries, as in AllenNLP


@dataclass(frozen=True, slots=True)
class OutputProjection:
    """A linear map that a task learned on top of the mix: ``x @ weight.T + bias``."""

    weight: Floats  # [anything, W]
    bias: Floats


@dataclass(frozen=True, slots=True)
class ClusterWeights:
    """The clusters of an adaptive softmax, with the head's weights for them (``polyseme.nn.adaptive``)."""

    cutoffs: tuple[int, ...]  #: first word of each cluster
    weight: Floats  # [clusters, D]
    bias: Floats  # [clusters]


@dataclass(frozen=True, slots=True)
class RoundedRows:
    """A matrix in 8 bits, with a scale for each row."""

    numbers: npt.NDArray[np.int8]  # [V, D]
    scales: Floats  # [V]

    def widened(self) -> Floats:
        """[V, D]"""
        weight = self.numbers.astype(np.float32)
        weight *= self.scales[:, None]
        return weight


@dataclass(frozen=True)
class SoftmaxWeights:
    """The output layer of a language model, shared by both directions; row v belongs to word v."""

    rows: Floats | RoundedRows  # [V, D], as stored: never widened if only vectors are needed
    bias: Floats  # [V]
    clusters: ClusterWeights | None = None  #: for an adaptive softmax

    @cached_property
    def weight(self) -> Floats:
        """[V, D]"""
        return self.rows.widened() if isinstance(self.rows, RoundedRows) else self.rows


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A biLM and all that belongs to it: the common form between the formats, the engine and the network."""

    config: BiLMConfig
    tensors: Mapping[str, Floats]  #: float32, by the parameter names of ``BiLM``
    indexer: Indexer
    vocabulary: Vocabulary | None = None  #: the words of the softmax, or of the format's vocabulary file
    softmax: SoftmaxWeights | None = None
    mixes: tuple[MixWeights, ...] = ()
    output_projection: OutputProjection | None = None
    card: Mapping[str, Any] = field(default_factory=dict)  #: name, languages, licence, tokenisation, state, …
    format: str = "native"  #: the title of the format it was read from
    digests: int = 0  #: how many digests of tensors and lists the loader has checked

    def fingerprint(self) -> str:
        """A digest of settings, alphabets and weights; models that give equal vectors have equal fingerprints."""
        return model_fingerprint(self.config, self.indexer, self.tensors)


def model_fingerprint(config: BiLMConfig, indexer: Indexer, tensors: Mapping[str, Floats]) -> str:
    scheme = indexer.characters.SCHEME if indexer.characters else None
    found = hashlib.sha256(canonical({"network": config, "indexer": indexer, "scheme": scheme}))
    for name in sorted(tensors):
        values = np.ascontiguousarray(tensors[name], np.dtype("<f4"))
        found.update(canonical([name, tensors[name].shape]))
        found.update(values.reshape(-1).view(np.uint8).data)
    return f"{SCHEME}:{found.hexdigest()}"


class ReloadableTensors(Mapping[str, Floats]):
    """Tensors by name; after ``release`` they are read again when needed."""

    def __init__(self, tensors: Mapping[str, Floats], reload: Callable[[], Mapping[str, Floats]]) -> None:
        self._tensors: Mapping[str, Floats] | None = tensors
        self._reload = reload

    def release(self) -> None:
        self._tensors = None

    def __getitem__(self, name: str) -> Floats:
        return self._there()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there())

    def __len__(self) -> int:
        return len(self._there())

    def _there(self) -> Mapping[str, Floats]:
        tensors = self._tensors
        if tensors is None:
            tensors = self._tensors = self._reload()
        return tensors


def reloadable(tensors: Mapping[str, Floats], reload: Callable[[], Mapping[str, Floats]]) -> Mapping[str, Floats]:
    """The same tensors, in a form that can be released if that is worthwhile."""
    size = sum(tensor.nbytes for tensor in tensors.values())
    return ReloadableTensors(tensors, reload) if size >= WORTH_BYTES else tensors


def release(tensors: Mapping[str, Floats]) -> None:
    """Release tensors from memory, if possible; they are read again when needed."""
    if isinstance(tensors, ReloadableTensors):
        tensors.release()
        _give_back()


def _give_back() -> None:
    """Return freed memory to the system: glibc keeps 100 MB of it after a model of the original size."""
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def model_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A folder to fill that becomes ``folder`` when the block ends without an error.

    A folder that is already there is replaced if all it holds is among ``files``, and refused otherwise.
    """
    check_replaceable(folder, files)
    with folder_when_complete(folder, replace=True) as beside:
        yield beside


def check_replaceable(folder: Path, files: Collection[str]) -> None:
    """Refuse to write over anything but a model that was saved before."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if not folder.is_dir() or folder.is_symlink():
        raise FormatError(f"{folder} already exists and is not a folder, so no model was saved; choose another name")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in files)
    if foreign:
        raise FormatError(
            f"{folder} holds {foreign[0]!r}, which is not part of a model, so nothing was replaced; "
            "choose a new or empty folder"
        )


def output_layer(stored: StoredModel) -> tuple[SoftmaxWeights, Vocabulary]:
    """The softmax and its words, which turn the model's outputs into probabilities."""
    name = str(stored.card.get("name") or "this model")
    if stored.softmax is None:
        raise ConfigError(
            f"{name} has no softmax, so it gives vectors but no probabilities; "
            "fit one with: polyseme finetune MODEL DIR --out RUN"
        )
    if stored.vocabulary is None:
        raise ConfigError(
            f"{name} has a softmax of {len(stored.softmax.bias)} rows, but no vocabulary that says which words they "
            "are; put its vocabulary file next to it, or fit a new softmax with: polyseme finetune MODEL DIR --out RUN"
        )
    if len(stored.vocabulary) != len(stored.softmax.bias):
        raise ConfigError(
            f"the vocabulary of {name} has {len(stored.vocabulary)} words, but its softmax has "
            f"{len(stored.softmax.bias)} rows; give the vocabulary that the model was trained with"
        )
    if missing := [special for special in SPECIALS if special not in stored.vocabulary]:
        raise ConfigError(
            f"the vocabulary of {name} lacks {', '.join(missing)}, so nothing stands for sentence boundaries and "
            "unknown words; fit a new softmax with: polyseme finetune MODEL DIR --out RUN"
        )
    return stored.softmax, stored.vocabulary
