"""Files that ``torch.save`` wrote, old (a pickle) and new (a zip with a pickle): tensors are read, no code is run."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.archives import is_torch_zip
from polyseme.formats.arrays import LARGEST_EXPANSION, Array, ArrayFile

#: A pickle of torch's magic number, which the old form begins with.
LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def is_torch_file(path: Path) -> bool:
    """Whether ``torch.save`` wrote the file, by its content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(len(LEGACY))
    return start == LEGACY or (start[:2] == b"PK" and is_torch_zip(path))


def read_state_dict(path: Path) -> ArrayFile:
    """The tensors of a state dict."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    _check_unpacked_size(path)
    values = _load(path)
    if not isinstance(values, Mapping) or not any(isinstance(x, Tensor) for x in values.values()):
        raise FormatError(f"{path.name} holds a {type(values).__name__} instead of named tensors (a state dict)")
    arrays = {str(name): _array(x) for name, x in values.items() if isinstance(x, Tensor)}
    return ArrayFile(path.name, arrays, path.stat().st_size)


def _load(path: Path) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # torch remarks on pickles that it then refuses
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a parser of foreign bytes fails in a dozen ways, and all of them mean this
        if "weights_only" in str(error) or "Weights only" in str(error):
            raise FormatError(
                f"{path.name} is a pickle that holds more than tensors and could run code, so it was not opened; "
                "ask for a plain state dict"
            ) from None
        raise FormatError(f"{path.name} is truncated or was not written by torch; copy or download it again") from None


def _check_unpacked_size(path: Path) -> None:
    if not is_torch_zip(path):
        return
    with zipfile.ZipFile(path) as archive:
        promised = sum(entry.file_size for entry in archive.infolist())
    if promised > LARGEST_EXPANSION * path.stat().st_size:
        raise FormatError(
            f"{path.name} promises {promised:,} bytes of tensors, which is not plausible; it was not read"
        )


def _array(x: Tensor) -> Array:
    plain = x.is_floating_point() and x.layout is torch.strided and not x.is_meta
    return Array(tuple(x.shape), str(x.dtype).removeprefix("torch."), plain, x.detach)
