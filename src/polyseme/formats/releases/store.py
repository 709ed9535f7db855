"""The downloaded releases, each in its own folder, which appears once it is complete.

HOME/releases/original/model/…          its files, unpacked
HOME/releases/original/release.json     where they came from, and their checksums
HOME/releases/original.partial/0/…      what has been downloaded so far from the release's first source
HOME/releases/checksums.json            checksums of first downloads, also of releases that were removed
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from polyseme.errors import DownloadError, JobError, reason_of
from polyseme.formats.releases.checksums import FileRecord, check_same
from polyseme.formats.releases.known import Release, file_name, is_url
from polyseme.jobs.atomic import delete_folder, home_folder, in_turn, partial_path, replace_when_complete

MANIFEST, MODEL = "release.json", "model"


@dataclass(frozen=True, slots=True)
class Download:
    """A downloaded release."""

    name: str
    folder: Path
    urls: tuple[str, ...]
    date: str
    files: dict[str, FileRecord]

    @property
    def model(self) -> Path:
        """The folder or file that the formats read."""
        return self.folder / MODEL

    @property
    def size(self) -> int:
        return sum(record.size for record in self.files.values())

    def write(self, path: Path) -> None:
        """The manifest."""
        records = {name: asdict(record) for name, record in self.files.items()}
        told = {"name": self.name, "date": self.date, "urls": self.urls, "files": records}
        with replace_when_complete(path) as file:
            file.write(json.dumps(told, indent=1, ensure_ascii=False).encode())


def store_folder() -> Path:
    return home_folder() / "releases"


def find_download(release: Release) -> Download | None:
    """The downloaded release, if there is one."""
    return _read_manifest(store_folder() / folder_name(release))


def downloads() -> Iterator[Download]:
    """All downloaded releases."""
    folder = store_folder()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if found := _read_manifest(path):
            yield found


def verify(download: Download) -> None:
    """Refuse files that have changed since they were downloaded."""
    for name, record in download.files.items():
        path = download.model / name
        if not path.is_file():
            raise DownloadError(f"{name} of {download.name} is missing; {_remedy(download.name)}")
        check_same(path, record, _remedy(download.name))


def remove(download: Download) -> None:
    """Delete the files of a release; its checksums are kept."""
    try:
        with in_turn(download.folder.with_name(f"{download.folder.name}.lock")):
            delete_folder(download.folder)
            delete_folder(partial_path(download.folder))
    except OSError as error:
        raise JobError(f"{download.name} cannot be removed: {reason_of(error)}") from None


def _read_manifest(folder: Path) -> Download | None:
    path = folder / MANIFEST
    if folder.suffix in (".partial", ".old") or not path.is_file():
        return None
    try:
        told = json.loads(path.read_bytes())
        files = {name: FileRecord(**record) for name, record in told["files"].items()}
        return Download(told["name"], folder, tuple(told["urls"]), told["date"], files)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # damaged: downloaded again


def _remedy(name: str) -> str:
    return f"get it again with: polyseme pull {name} --again"


def folder_name(release: Release) -> str:
    """The name of a release's folder, valid on every file system."""
    if is_url(release.name):
        kind = "pair" if len(release.sources[0]) > 1 else "file"  # one address, or several files that belong together
        return f"{kind}-{hashlib.sha256(release.name.encode()).hexdigest()[:12]}-{file_name(release.name)[:60]}"
    return re.sub(r"[^\w.-]", "-", release.name)
