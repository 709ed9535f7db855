"""Checksums of release files: published ones, and for all other files those of the first download.

    RELEASES/checksums.json      "original/weights.hdf5": {"sha256": …, "size": …, "first": the day}

A file that is downloaded again, from any address, or read again must have the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from polyseme.errors import DownloadError
from polyseme.jobs.atomic import in_turn, replace_when_complete

RECORDS = "checksums.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as first downloaded."""

    sha256: str
    size: int
    first: str  #: the day


def record_of(path: Path) -> FileRecord:
    """The record of a file in its current state."""
    return FileRecord(digest(path, "sha256"), path.stat().st_size, datetime.now(UTC).date().isoformat())


def digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def check_published(path: Path, checksum: str) -> None:
    """Refuse a file that does not match the checksum of its publisher, "sha1:…"."""
    kind, _, expected = checksum.partition(":")
    if (found := digest(path, kind)) != expected:
        raise DownloadError(
            f"{path.name} has the {kind} checksum {found[:12]}…, but its publisher says {expected[:12]}…, "
            "so it is damaged or another file"
        )


def check_same(path: Path, before: FileRecord, remedy: str) -> None:
    """Refuse a file that has changed."""
    size = path.stat().st_size
    found = digest(path, "sha256") if size == before.size else ""
    if found != before.sha256:
        now = f"{size:,} bytes" if size != before.size else f"other bytes (sha256 {found[:12]}…)"
        raise DownloadError(
            f"{path.name} has {now}, but it had {before.size:,} bytes with the sha256 {before.sha256[:12]}… when it "
            f"first came on {before.first}: it is damaged, or was replaced; {remedy}"
        )


def read_records(folder: Path) -> dict[str, FileRecord]:
    """All records, by "release/file"."""
    try:
        told = json.loads((folder / RECORDS).read_bytes())
        return {key: FileRecord(**record) for key, record in told.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DownloadError(
            f"{folder / RECORDS}, the checksums of all downloads, cannot be read ({error}); delete it to start over"
        ) from None


def keep_records(folder: Path, records: Mapping[str, FileRecord]) -> None:
    """Add or replace records; several processes may do so at once."""
    with in_turn(folder / f"{RECORDS}.lock"):
        every = {**read_records(folder), **records}
        with replace_when_complete(folder / RECORDS) as file:
            told = {key: asdict(record) for key, record in sorted(every.items())}
            file.write(json.dumps(told, indent=1, ensure_ascii=False).encode())
