"""Training on the compiled kernel: an LSTM layer, the sampled softmax and the character CNN, with their gradients
(lstm_kernel.py, softmax_kernel.py, characters_kernel.py).

These take most of a training step on a CPU. The kernel gives the numbers of the readable network in float32, and on
processors with bfloat16 instructions, inside ``lowered``, those of factors rounded to bfloat16; sums, cells and weights
are float32 in both. On a GPU, in double precision, under autocast or without the kernel, PyTorch does the work.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_int64, c_void_p
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from polyseme.kernel.library import Library, library

_asked = threading.local()


@contextmanager
def lowered(dtype: torch.dtype) -> Iterator[None]:
    """In here, and in this thread, the kernel multiplies factors of this type."""
    before = getattr(_asked, "dtype", torch.float32)
    _asked.dtype = dtype
    try:
        yield
    finally:
        _asked.dtype = before


@dataclass(frozen=True, slots=True)
class TrainingKernel:
    """The functions of the kernel for one type of factors."""

    library: Library
    dtype: torch.dtype

    @property
    def lanes(self) -> int:
        """What sizes have to be multiples of."""
        return self.library.panel // 4

    def call(self, name: str, *arguments: object) -> None:
        """A function of this type of factors; the arguments are structures, whole numbers and tensors."""
        self.run(f"{name}_{str(self.dtype).removeprefix('torch.')}", *arguments)

    def run(self, name: str, *arguments: object) -> None:
        function: Callable[..., int] = getattr(self.library.functions, f"polyseme_{name}")
        if not function(*(_passed(argument) for argument in arguments)):
            raise MemoryError(f"there is not enough memory for {name}")


def training_kernel(x: Tensor) -> TrainingKernel | None:
    """The kernel for computations with ``x``; None where PyTorch has to do them."""
    if x.device.type != "cpu" or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return None
    return _kernel(getattr(_asked, "dtype", torch.float32))


def has_bfloat16() -> bool:
    """Whether this processor and the kernel can multiply in bfloat16."""
    return _kernel(torch.bfloat16) is not None


@cache
def _kernel(dtype: torch.dtype) -> TrainingKernel | None:
    found = library()
    if found is None or (dtype == torch.bfloat16 and not found.functions.polyseme_has_bfloat16()):
        return None
    return TrainingKernel(found, dtype)


def _passed(argument: object) -> object:
    if isinstance(argument, Tensor):
        assert argument.is_contiguous() and argument.device.type == "cpu"
        return c_void_p(argument.data_ptr())
    if isinstance(argument, ctypes.Structure):
        return ctypes.byref(argument)
    assert isinstance(argument, int)
    return c_int64(argument)


def numbers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)
