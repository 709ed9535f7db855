"""What a native folder was when it was saved, so that a flipped bit is noticed, and where.

    "digests": {"tensors": {"token_encoder.projection.weight": "9a3cf02d", …}, "files": {"vocab.txt": "0c11d2e8", …}},
    "checksum": "51e06a77"      of config.json itself, of all but this line

A digest is a crc32: it sees every flipped bit, and 26 MB of weights take 12 ms. That of a tensor covers its name, its
type and its shape too. A folder from before there were digests has none, and is read without.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from polyseme.errors import FormatError
from polyseme.formats.json_file import Settings
from polyseme.jobs.manifests import CHECKSUM, checksum_of

DIGESTS = "digests"
_BLOCK = 1 << 20
_REMEDY = "get the model again"


def with_digests(config: Mapping[str, Any], weights: Path, lists: Iterable[Path]) -> dict[str, Any]:
    """config.json with the digests of the files that were written beside it, and its own checksum."""
    found = {"tensors": tensor_digests(weights), "files": {path.name: list_digest(path) for path in lists}}
    whole = json.loads(json.dumps({**config, DIGESTS: found}))
    return {**whole, CHECKSUM: checksum_of(whole)}


def check_config(settings: Settings) -> None:
    """The checksum of config.json must be right, if there is one."""
    values = {name: value for name, value in settings.values.items() if name != CHECKSUM}
    if CHECKSUM in settings.values and settings.values[CHECKSUM] != checksum_of(values):
        raise FormatError(
            f"{settings.where} is not as it was saved: its checksum does not match its content; "
            f'{_REMEDY}, or take the line "{CHECKSUM}" out if you changed the file yourself'
        )


def check_digests(settings: Settings, weights: Path) -> int:
    """Refuse tensors and lists that are not those that were saved; how many were compared."""
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
    """Of a list of words; line ends that a program for Windows has changed do not count."""
    content = path.read_bytes().replace(b"\r\n", b"\n")
    return f"{zlib.crc32(content):08x}"


def tensor_digests(path: Path) -> dict[str, str]:
    """Of every tensor of a safetensors file: a length, a JSON header, then the values."""
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
