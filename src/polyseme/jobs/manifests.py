"""Manifests: small JSON files that say what a job is and what lies beside them, with a checksum of their own.

{"version": 1, …, "checksum": "9a3cf02d"}
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from polyseme.errors import ConfigError, InputError
from polyseme.jobs.atomic import replace_when_complete
from polyseme.jobs.identity import canonical
from polyseme.settings import settings_from

T = TypeVar("T")
CHECKSUM = "checksum"


def write_json(path: Path, values: Any) -> None:
    """Readable JSON, under its name when it is complete."""
    with replace_when_complete(path) as file:
        file.write((json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))


def write_manifest(path: Path, about: Any) -> None:
    """A dataclass, or names and values."""
    values = asdict(about) if is_dataclass(about) and not isinstance(about, type) else dict(about)
    write_json(path, {**values, CHECKSUM: checksum_of(values)})


def read_manifest(path: Path, kind: type[T], version: int) -> T:
    """What was written, as a dataclass; InputError states what is wrong with the file."""
    values = read_values(path)
    if values.get("version") != version:
        raise InputError(f"{path.name} has version {values.get('version')!r}, where {version} was expected")
    try:
        return settings_from(kind, values, path.name)
    except ConfigError as problem:
        raise InputError(str(problem)) from None


def read_values(path: Path) -> dict[str, Any]:
    """The same as names and values."""
    try:
        values = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise InputError(f"{path.name} is missing") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path.name} is damaged: it cannot be read as JSON") from None
    if not isinstance(values, dict):
        raise InputError(f"{path.name} is damaged: it holds no names and values")
    checksum = values.pop(CHECKSUM, None)  # corpora and runs from before there were checksums have none
    if checksum is not None and not _has_checksum(values, checksum):
        raise InputError(f"{path.name} is damaged: its checksum is not that of its content")
    return values


def _has_checksum(values: Mapping[str, Any], checksum: object) -> bool:
    try:
        return checksum == checksum_of(values)
    except ValueError:  # NaN or infinity, which nobody wrote a checksum of
        return False


def checksum_of(values: Mapping[str, Any]) -> str:
    """Of names and values, however they are written."""
    return f"{zlib.crc32(canonical(values)):08x}"
