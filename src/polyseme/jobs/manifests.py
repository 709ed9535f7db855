"""What a job is and what it made, recorded so that a later process can check: is this the same job, and is it intact?

    identity     the digest of values as canonical JSON; input files are identified by the hash of their content
    manifest     {"version": 1, …, "checksum": "9a3cf02d"}: a small JSON file with its own checksum
    piece        a file beside the manifest: its size and checksum; large ones are mapped, not read

A dataclass is described by the fields that differ from their defaults. So a field that a later version adds with a
default does not change identities, nor does renaming a class; but a default that is in use must never change.

The checksum of a piece is crc32: it detects every flipped bit, can be extended as a file grows, and reads several
gigabytes per second. Large files that are mapped and never read as a whole are checked once; ``.checked.json`` records
this, with their sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import ConfigError, InputError, JobError, reason_of
from polyseme.jobs.atomic import replace_when_complete
from polyseme.settings import settings_from

MOST_NAMED = 3  # most differences that one message lists
T = TypeVar("T")
CHECKSUM = "checksum"
CHECKED = ".checked.json"
_BLOCK = 1 << 20


def canonical(value: Any) -> bytes:
    """The values as canonical JSON: sorted names, no blanks, ASCII, 3.0 as 3."""
    return json.dumps(told(value), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: Any) -> str:
    """sha256 of the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def told(value: Any) -> Any:
    """The value as plain JSON values, without defaults."""
    if is_dataclass(value):
        return dict(_differing(value))
    if isinstance(value, Mapping):
        return {str(name): told(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [told(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _differing(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        held = getattr(value, field.name)
        if held != _default(field):
            yield field.name, told(held)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def refuse_other(earlier: Any, now: Any, *, what: str, remedy: str, free: Collection[str] = ()) -> None:
    """JobError if two descriptions differ in anything but ``free``, with the differences and both values."""
    before, after = dict(_flat(earlier)), dict(_flat(now))
    names = [name for name in {**before, **after} if not any(f"{name}.".startswith(f"{one}.") for one in free)]
    changes = [
        f"{name} was {_shown(before.get(name))} and is {_shown(after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    ]
    if changes:
        more = f"; and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
        raise JobError(f"{what}: {'; '.join(changes[:MOST_NAMED])}{more}; {remedy}")


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name; for files and models in a list, "sha256 of corpus.txt"."""
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and value and all(map(is_dataclass, value)):
        yield name, [one.name for one in value]
        for one in value:
            yield from ((f"{key} of {one.name}", held) for key, held in _flat(one) if key != "name")
    else:
        yield name, told(value)


def _shown(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:24]}…{text[-24:]}"


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input; one that cannot be read twice (standard input) has no size and no hash."""

    name: str
    size: int | None
    sha256: str | None


def describe_input(path: str | Path, name: str | None = None) -> InputFile:
    """Describe a file, or a folder of files."""
    path = Path(path)
    sha256 = sha256_of(path)
    return InputFile(name or str(path), sum(file.stat().st_size for file in _files_of(path)), sha256)


def sha256_of(path: Path) -> str:
    """The hash of a file; of a folder, that of all names and hashes, as sha256sum prints them."""
    lines = [f"{_sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in _files_of(path) if file != path]
    joined = "".join(lines).encode("utf-8", "surrogateescape")
    return hashlib.sha256(joined).hexdigest() if path.is_dir() else _sha256(path)


def _files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None


def write_json(path: Path, values: Any) -> None:
    """Write readable JSON; the file appears once it is complete."""
    with replace_when_complete(path) as file:
        file.write((json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))


def write_manifest(path: Path, about: Any) -> None:
    """Write a dataclass, or names and values, with a checksum."""
    values = asdict(about) if is_dataclass(about) and not isinstance(about, type) else dict(about)
    write_json(path, {**values, CHECKSUM: checksum_of(values)})


def read_manifest(path: Path, kind: type[T], version: int) -> T:
    """Read a manifest as a dataclass; InputError says what is wrong with the file."""
    values = read_values(path)
    if values.get("version") != version:
        raise InputError(f"{path.name} has version {values.get('version')!r}, where {version} was expected")
    try:
        return settings_from(kind, values, path.name)
    except ConfigError as problem:
        raise InputError(str(problem)) from None


def read_values(path: Path) -> dict[str, Any]:
    """Read a manifest as names and values."""
    try:
        values = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise InputError(f"{path.name} is missing") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path.name} is damaged: it cannot be read as JSON") from None
    if not isinstance(values, dict):
        raise InputError(f"{path.name} is damaged: it is not an object of names and values")
    checksum = values.pop(CHECKSUM, None)  # older corpora and runs have no checksum
    if checksum is not None and not _has_checksum(values, checksum):
        raise InputError(f"{path.name} is damaged: its checksum does not match its content")
    return values


def _has_checksum(values: Mapping[str, Any], checksum: object) -> bool:
    try:
        return checksum == checksum_of(values)
    except ValueError:  # NaN or infinity, which never have a checksum
        return False


def checksum_of(values: Mapping[str, Any]) -> str:
    """The checksum of names and values, independent of how they are formatted."""
    return f"{zlib.crc32(canonical(values)):08x}"


@dataclass(frozen=True, slots=True)
class Piece:
    """The size of a file, and the checksum of its content."""

    size: int = 0
    crc32: int = 0

    def plus(self, data: Any) -> Piece:
        """The piece after these bytes have been appended."""
        return Piece(self.size + len(data), zlib.crc32(data, self.crc32))


def measure_piece(path: Path, size: int | None = None) -> Piece:
    """Measure a file, or its first ``size`` bytes."""
    piece = Piece()
    with path.open("rb") as file:
        while block := file.read(_BLOCK if size is None else min(_BLOCK, size - piece.size)):
            piece = piece.plus(block)
    return piece


def check_piece(path: Path, piece: Piece) -> None:
    """InputError if the file has changed since it was written."""
    if not path.is_file():
        raise InputError(f"{path.name} is missing")
    if (found := path.stat().st_size) != piece.size:
        raise InputError(f"{path.name} has {found} bytes where {piece.size} were expected")
    if measure_piece(path) != piece:
        raise InputError(f"{path.name} is damaged: its checksum does not match")


def check_pieces(folder: Path, pieces: Mapping[str, Piece]) -> None:
    """The same for several files in a folder, except those that were checked before and have not changed since."""
    before = _remembered(folder)
    for name, piece in pieces.items():
        if name not in before or before[name] != _times(folder / name):
            check_piece(folder / name, piece)
    now = {name: _times(folder / name) for name in pieces}
    if now != before:
        with suppress(OSError):  # a folder that cannot be written is checked every time
            write_json(folder / CHECKED, now)


def _remembered(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / CHECKED).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def _times(path: Path) -> list[int]:
    with suppress(OSError):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]  # a copy has a different ctime
    return []


def map_file(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """A read-only array over a file that must have exactly this size."""
    if not path.is_file():
        raise InputError(f"{path.name} is missing")
    expected, found = count * dtype.itemsize, path.stat().st_size
    if found != expected:
        raise InputError(f"{path.name} has {found} bytes where {expected} were expected")
    return np.memmap(path, dtype, mode="r", shape=(count,))


def release(*arrays: NDArray[Any]) -> None:
    """Release the memory of mapped files that was used; it is loaded again when needed."""
    advice = getattr(mmap, "MADV_DONTNEED", None)  # Windows has none, and reclaims the memory when it needs it
    for array in arrays:
        pages = getattr(array, "_mmap", None)
        if advice is not None and pages is not None:
            pages.madvise(advice)
