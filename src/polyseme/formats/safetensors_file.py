"""safetensors files of weights, opened without being read, and written; rows of weights may have 8 bits.

An 8-bit row is integers from -127 to 127, and a scale:

    row ≈ scale · numbers,   scale = max |row| / 127

A scale keeps 16 bits of its fraction. So its products with the integers are exact in float32, and rounding rows again
does not change them.

A native folder stores digests of what was saved, so that a flipped bit is noticed and located:

    "digests": {"tensors": {"token_encoder.projection.weight": "9a3cf02d", …}, "files": {"vocab.txt": "0c11d2e8", …}},
    "checksum": "51e06a77"      of config.json itself, without this line

A digest is a crc32: it detects every flipped bit, and 26 MB of weights take 12 ms. That of a tensor also covers its
name, type and shape. Older folders have no digests, and are read without them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from polyseme.errors import FormatError, WrongShape
from polyseme.formats.arrays import BFLOAT16, Array, ArrayFile, Floats, widened
from polyseme.formats.json_file import Settings
from polyseme.formats.model import RoundedRows
from polyseme.jobs.manifests import CHECKSUM, checksum_of

FLOATING = ("F16", "BF16", "F32", "F64")
LARGEST = 127
#: Mask that clears the lowest 8 bits of a float32.
_KEPT = np.uint32(0xFFFFFF00)
DIGESTS = "digests"
_BLOCK = 1 << 20
_REMEDY = "get the model again"


@contextmanager
def open_safetensors(path: Path) -> Iterator[ArrayFile]:
    """The arrays of a safetensors file; they can be read within the block."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: _lazy(file, path, name) for name in file.keys()}  # noqa: SIM118, this is no dict
            yield ArrayFile(path.name, arrays, path.stat().st_size)
    except SafetensorError as error:
        raise FormatError(f"{path.name} is truncated or not a safetensors file ({error}); get it again") from None


def write_safetensors(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a new safetensors file with these arrays."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(whole, path, metadata={"format": "pt"})  # what hubs expect for weights that PyTorch can read


def _lazy(file: Any, path: Path, name: str) -> Array:
    part = file.get_slice(name)
    kind, shape = part.get_dtype(), tuple(part.get_shape())

    def read() -> npt.NDArray[Any]:
        if kind == "BF16":
            return _read_bfloat16(path, name).reshape(shape)
        values: npt.NDArray[Any] = file.get_tensor(name)
        return values

    return Array(shape, kind, kind in FLOATING, read)


def _read_bfloat16(path: Path, name: str) -> Floats:
    """Read bfloat16 from the raw bytes, since numpy has no such type."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin, end = json.loads(file.read(size))[name]["data_offsets"]
    return widened(np.fromfile(path, np.dtype(BFLOAT16), (end - begin) // 2, offset=8 + size + begin))


def round_rows(weight: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """[V, D] → numbers [V, D] and scales [V]"""
    largest = np.abs(weight).max(axis=1, initial=0).astype(np.float32) / np.float32(LARGEST)
    scales = (largest.view(np.uint32) & _KEPT).view(np.float32)
    scales[scales < np.finfo(np.float32).tiny] = 0  # so small a row counts as zero: its scale has too few bits
    factors = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0, dtype=np.float64)
    return np.rint(weight * factors[:, None]).astype(np.int8), scales


def read_rounded(file: ArrayFile, weight: str, scale: str) -> tuple[RoundedRows | None, ArrayFile]:
    """``weight``, if its rows are rounded, and a view of the file without their ``scale``, as if they were float32."""
    if scale not in file.arrays:
        return None, file
    rounded, scales = file.arrays.get(weight), file.arrays[scale]
    if rounded is None:
        raise file.missing(weight)
    if rounded.kind != "I8" or not rounded.shape:
        raise FormatError(f"{file.name}: the array {weight!r} has scales, but holds {rounded.kind} instead of int8")
    if scales.shape != rounded.shape[:1]:
        raise WrongShape(file.name, scale, rounded.shape[:1], scales.shape)
    file.check({scale: scales.shape})
    rows = RoundedRows(rounded.read(), file.read(scale))
    arrays = {name: array for name, array in file.arrays.items() if name != scale}
    return rows, replace(file, arrays={**arrays, weight: Array(rounded.shape, "int8", True, rows.widened)})


def with_digests(config: Mapping[str, Any], weights: Path, lists: Iterable[Path]) -> dict[str, Any]:
    """config.json with the digests of the files that were written beside it, and its own checksum."""
    found = {"tensors": tensor_digests(weights), "files": {path.name: list_digest(path) for path in lists}}
    whole = json.loads(json.dumps({**config, DIGESTS: found}))
    return {**whole, CHECKSUM: checksum_of(whole)}


def check_config(settings: Settings) -> None:
    """Check the checksum of config.json, if there is one."""
    values = {name: value for name, value in settings.values.items() if name != CHECKSUM}
    if CHECKSUM in settings.values and settings.values[CHECKSUM] != checksum_of(values):
        raise FormatError(
            f"{settings.where} is not as it was saved: its checksum does not match its content; "
            f'{_REMEDY}, or take the line "{CHECKSUM}" out if you changed the file yourself'
        )


def check_digests(settings: Settings, weights: Path) -> int:
    """Refuse tensors and lists that differ from those that were saved; returns how many were checked."""
    digests = settings.part(DIGESTS)
    digests.only("tensors", "files")
    for name, digest in digests.part("files").values.items():
        path = weights.with_name(name)
        if not path.is_file():
            raise FormatError(f"the file {name} is missing; {_REMEDY}")
        if list_digest(path) != digest:
            raise FormatError(f"{name} is damaged: it is not what was saved; {_REMEDY}")
    if known := digests.part("tensors").values:
        found = tensor_digests(weights)
        if wrong := sorted(name for name in known if found.get(name) != known[name]):
            more = f" and {len(wrong) - 1} more are" if len(wrong) > 1 else " is"
            raise FormatError(f"{weights.name} is damaged: the array {wrong[0]!r}{more} not what was saved; {_REMEDY}")
    return len(digests.part("files").values) + len(known)


def list_digest(path: Path) -> str:
    """The digest of a list of words, ignoring line ends changed by Windows programs."""
    content = path.read_bytes().replace(b"\r\n", b"\n")
    return f"{zlib.crc32(content):08x}"


def tensor_digests(path: Path) -> dict[str, str]:
    """The digest of every tensor of a safetensors file (which is a length, a JSON header, then the values)."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        try:
            if length > size - 8:
                raise ValueError("its header extends beyond its end")
            header = json.loads(file.read(length))
            tensors = {name: told for name, told in header.items() if name != "__metadata__"}
            return {name: _digest(file, name, told, length + 8) for name, told in tensors.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path.name} is truncated or not a safetensors file ({error}); {_REMEDY}") from None


def _digest(file: IO[bytes], name: str, told: Mapping[str, Any], start: int) -> str:
    begin, end = told["data_offsets"]
    found = zlib.crc32(json.dumps([name, told["dtype"], told["shape"]]).encode())
    file.seek(start + begin)
    left = end - begin
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        found = zlib.crc32(block, found)
        left -= len(block)
    return f"{found:08x}"
