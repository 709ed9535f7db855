"""Files written by ``torch.save``: the tensors of a state dict, read by a reader that can do nothing else.

new form   a zip: NAME/data.pkl, a pickle in which storages have keys; NAME/data/KEY, the values of each storage
old form   consecutive pickles: a magic number, a version, the machine, the value, the keys of the storages in order;
           then for each of them the number of its values in 8 bytes, and the values

A tensor is a view of a storage: an offset, sizes and strides.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError
from polyseme.formats.archives import is_torch_zip, is_zip
from polyseme.formats.arrays import BFLOAT16, LARGEST_EXPANSION, Array, ArrayFile, widened
from polyseme.formats.plain_pickle import DamagedPickle, ForeignPickle, read_pickle

#: A pickle of torch's magic number, with which the old form begins.
LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
LEGACY_VERSION = 1001

Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class StorageType:
    """The type of the values in a storage."""

    name: str
    dtype: str

    @property
    def floating(self) -> bool:
        return self.dtype == BFLOAT16 or np.dtype(self.dtype).kind == "f"


STORAGES = {
    "FloatStorage": StorageType("float32", "<f4"),
    "DoubleStorage": StorageType("float64", "<f8"),
    "HalfStorage": StorageType("float16", "<f2"),
    "BFloat16Storage": StorageType("bfloat16", BFLOAT16),
    "LongStorage": StorageType("int64", "<i8"),
    "IntStorage": StorageType("int32", "<i4"),
    "ShortStorage": StorageType("int16", "<i2"),
    "CharStorage": StorageType("int8", "i1"),
    "ByteStorage": StorageType("uint8", "u1"),
    "BoolStorage": StorageType("bool", "?"),
}


@dataclass(frozen=True, slots=True)
class TorchStorage:
    """``size`` values in the file; a view may begin anywhere in them."""

    key: str
    type: StorageType
    size: int


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """A view of a storage."""

    storage: TorchStorage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, values: Values) -> Values:
        """The view, copied from the values of its storage."""
        steps = [stride * values.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(values[self.offset :], self.shape, steps, writeable=False)
        return view.copy()


def is_torch_file(path: Path) -> bool:
    """Whether ``torch.save`` wrote the file, by its content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(len(LEGACY))
    return start == LEGACY or (start[:2] == b"PK" and is_torch_zip(path))


def read_state_dict(path: Path) -> ArrayFile:
    """The tensors of a state dict; their values are read when needed."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    with _one_sentence(path):
        values, read_storage = _open_zip(path) if is_zip(path) else _open_legacy(path)
    if not isinstance(values, dict) or not any(isinstance(x, TorchTensor) for x in values.values()):
        kind = type(values).__name__.removeprefix("Torch")
        raise FormatError(f"{path.name} holds a {kind} instead of named tensors (a state dict)")
    tensors = {str(name): x for name, x in values.items() if isinstance(x, TorchTensor)}
    arrays = {name: _array(path, tensor, read_storage) for name, tensor in tensors.items()}
    return ArrayFile(path.name, arrays, path.stat().st_size)


def _array(path: Path, tensor: TorchTensor, read_storage: Callable[[TorchStorage], Values]) -> Array:
    kind = tensor.storage.type

    def read() -> Values:
        with _one_sentence(path):
            values = tensor.of(read_storage(tensor.storage))
        return widened(values) if kind.dtype == BFLOAT16 else values

    return Array(tensor.shape, kind.name, kind.floating, read)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except ForeignPickle as foreign:
        raise FormatError(
            f"{path.name} is a pickle that holds more than tensors ({foreign}) and could run code, so it was not "
            "opened; ask for a plain state dict"
        ) from None
    except (DamagedPickle, OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError):
        # RuntimeError: an encrypted entry; NotImplementedError, a subclass: an unsupported compression
        raise FormatError(f"{path.name} is truncated or was not written by torch; copy or download it again") from None


def _open_zip(path: Path) -> tuple[Any, Callable[[TorchStorage], Values]]:
    with zipfile.ZipFile(path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        if (promised := sum(sizes.values())) > LARGEST_EXPANSION * path.stat().st_size:
            raise FormatError(
                f"{path.name} promises {promised:,} bytes of tensors, which is not plausible; it was not read"
            )
        folder = next((name.removesuffix("data.pkl") for name in sizes if name.endswith("/data.pkl")), None)
        if folder is None:
            raise DamagedPickle("it has no data.pkl")
        if f"{folder}byteorder" in sizes and archive.read(f"{folder}byteorder") != b"little":
            raise FormatError(f"{path.name} was written on a big-endian machine, which is not read")
        with archive.open(f"{folder}data.pkl") as file:
            values = read_pickle(file, KNOWN, lambda found: _storage(found, views=False))

    def read_storage(storage: TorchStorage) -> Values:
        dtype, name = np.dtype(storage.type.dtype), f"{folder}data/{storage.key}"
        if sizes.get(name) != storage.size * dtype.itemsize:
            raise DamagedPickle("a storage does not have its size")
        with zipfile.ZipFile(path) as archive:
            return np.frombuffer(archive.read(name), dtype)

    return values, read_storage


def _open_legacy(path: Path) -> tuple[Any, Callable[[TorchStorage], Values]]:
    storages: dict[str, TorchStorage] = {}

    def persistent(found: Any) -> TorchStorage:
        storage = _storage(found, views=True)
        if storages.setdefault(storage.key, storage) != storage:
            raise DamagedPickle("two storages have one key")
        return storage

    with path.open("rb") as file:
        if file.read(len(LEGACY)) != LEGACY or read_pickle(file, {}) != LEGACY_VERSION:
            raise DamagedPickle("it does not begin as such a file")
        machine = read_pickle(file, {})
        if not isinstance(machine, dict) or machine.get("little_endian") is not True:
            raise FormatError(f"{path.name} was written on a big-endian machine, which is not read")
        values = read_pickle(file, KNOWN, persistent)
        keys = read_pickle(file, {})
        begin, end = file.tell(), path.stat().st_size
        places: dict[str, int] = {}
        for key in keys if isinstance(keys, list) else ():
            file.seek(begin)
            storage = storages.get(key)
            if storage is None or int.from_bytes(file.read(8), "little") != storage.size:
                raise DamagedPickle("a storage is not the one that was announced")
            places[key] = begin + 8
            begin += 8 + storage.size * np.dtype(storage.type.dtype).itemsize
        if set(places) != set(storages) or begin > end:
            raise DamagedPickle("a storage is missing")

    def read_storage(storage: TorchStorage) -> Values:
        return np.fromfile(path, np.dtype(storage.type.dtype), storage.size, offset=places[storage.key])

    return values, read_storage


def _storage(found: Any, *, views: bool) -> TorchStorage:
    """A storage from ("storage", type, key, device, size), in the old form followed by None."""
    if type(found) is not tuple or len(found) != 5 + views or found[0] != "storage" or (views and found[5] is not None):
        raise ForeignPickle("a storage of another kind")
    _, kind, key, _, size = found[:5]
    if not isinstance(kind, StorageType) or type(key) is not str or not _is_count(size):
        raise DamagedPickle("a storage has no type, key or size")
    return TorchStorage(key, kind, size)


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> TorchTensor:
    """The arguments of ``torch._utils._rebuild_tensor``; newer versions add requires_grad, hooks and metadata."""
    if not isinstance(storage, TorchStorage) or not _is_count(offset):
        raise DamagedPickle("a tensor has no storage or offset")
    for numbers in (shape, strides):
        if type(numbers) is not tuple or len(numbers) > 32 or not all(map(_is_count, numbers)):
            raise DamagedPickle("a tensor has no shape or strides")
    if len(shape) != len(strides):
        raise DamagedPickle("a tensor has more axes than strides")
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) and offset + last >= storage.size:
        raise DamagedPickle("a tensor extends beyond its storage")
    return TorchTensor(storage, offset, shape, strides)


def _parameter(tensor: Any, *_: Any) -> TorchTensor:
    if not isinstance(tensor, TorchTensor):
        raise DamagedPickle("a parameter is no tensor")
    return tensor


def _ordered_dict(*arguments: Any) -> dict[Any, Any]:
    if arguments:
        raise ForeignPickle("a dict of Python 2")
    return {}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


#: Everything that the pickle of a state dict may refer to.
KNOWN: Mapping[str, Any] = {
    "collections OrderedDict": _ordered_dict,
    "torch._utils _rebuild_tensor": _tensor,
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_parameter": _parameter,
    **{f"torch {name}": kind for name, kind in STORAGES.items()},
}
