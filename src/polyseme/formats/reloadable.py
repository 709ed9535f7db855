"""The tensors of a large model, which can leave memory and come back from where they were read.

The engine packs weights into a form of its own, perhaps of fewer bits. What they were made of is asked for rarely after
that: to compute a fingerprint, to convert the model, for PyTorch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from polyseme.formats.arrays import Floats

#: Smaller models stay: reading them again would cost more than it saves.
WORTH_BYTES = 64 << 20


class ReloadableTensors(Mapping[str, Floats]):
    """Tensors by name; after ``release`` they are read again when somebody asks."""

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
    """The same tensors, able to leave if that is worth it."""
    size = sum(tensor.nbytes for tensor in tensors.values())
    return ReloadableTensors(tensors, reload) if size >= WORTH_BYTES else tensors


def release(tensors: Mapping[str, Floats]) -> None:
    """Whoever needs them reads them again; those that cannot leave stay."""
    if isinstance(tensors, ReloadableTensors):
        tensors.release()
        _give_back()


def _give_back() -> None:
    """glibc keeps freed memory in the middle of its heap: 100 MB after a model of the original size."""
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
