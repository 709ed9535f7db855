"""Whether a file that came is of the kind that its name promises: servers answer with pages where files were."""

from __future__ import annotations

import json
from pathlib import Path

from polyseme.errors import DownloadError
from polyseme.formats.archives import is_zip
from polyseme.formats.json_file import LARGEST_JSON

#: (end of the name, what it is, its first bytes)
KINDS = (
    ((".hdf5", ".h5"), "an HDF5 file", b"\x89HDF\r\n\x1a\n"),
    ((".zip",), "a zip archive", b"PK"),
    ((".tar.gz", ".tgz"), "a tar.gz archive", b"\x1f\x8b"),
    ((".tar.bz2",), "a tar.bz2 archive", b"BZh"),
)
PAGE = (b"<!doctype", b"<html", b"<?xml", b"<head")


def check_contents(path: Path) -> None:
    """Refuse a web page, an empty file, and anything that is not what its name says."""
    with path.open("rb") as file:
        start = file.read(512)
    if not start:
        raise DownloadError(f"{path.name} is empty")
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(PAGE):
        raise DownloadError(f"instead of {path.name} a web page came")
    for endings, kind, signature in KINDS:
        if path.name.endswith(endings) and not start.startswith(signature):
            raise DownloadError(f"{path.name} should be {kind}, but begins with {start[:8]!r}")
    if path.name.endswith(".zip") and not is_zip(path):
        raise DownloadError(f"{path.name} is a zip archive without its end")
    if path.name.endswith(".json"):
        _check_json(path)


def _check_json(path: Path) -> None:
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise ValueError("too large")
        json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DownloadError(f"{path.name} should be JSON, and is not") from None
