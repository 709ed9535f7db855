"""Downloads a release from the first source that has it, checks it and unpacks it.

A process that is killed leaves its files in the folder NAME.partial, and the next one continues from them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from polyseme.errors import DownloadError, FormatError
from polyseme.formats.archives import extract, is_archive, is_zip
from polyseme.formats.json_file import LARGEST_JSON
from polyseme.formats.releases.checksums import (
    FileRecord,
    check_published,
    check_same,
    keep_records,
    read_records,
    record_of,
)
from polyseme.formats.releases.fetch import fetch
from polyseme.formats.releases.known import Release, Source, is_url
from polyseme.formats.releases.reports import DownloadReport, current_listener
from polyseme.formats.releases.store import (
    MANIFEST,
    MODEL,
    Download,
    find_download,
    folder_name,
    store_folder,
)
from polyseme.jobs.atomic import delete_folder, in_turn, partial_path, replace_when_complete, sync

PART = re.compile(r"(.+)\.part-\d+")
Check = Callable[[Path], object]  #: raises FormatError if a folder does not hold a sound model
#: (suffixes, what it is, first bytes)
KINDS = (
    ((".hdf5", ".h5"), "an HDF5 file", b"\x89HDF\r\n\x1a\n"),
    ((".zip",), "a zip archive", b"PK"),
    ((".tar.gz", ".tgz"), "a tar.gz archive", b"\x1f\x8b"),
    ((".tar.bz2",), "a tar.bz2 archive", b"BZh"),
)
PAGE = (b"<!doctype", b"<html", b"<?xml", b"<head")


def pull(release: Release, check: Check, *, again: bool = False) -> Download:
    """Download a release unless it is here; with ``again`` even if it is, and the new files are trusted.

    ``check`` must accept the files. Raises DownloadError with the answers of all sources.
    """
    if release.refused:
        raise DownloadError(f"polyseme cannot use {release.name}: {release.refused}")
    if not again and (found := find_download(release)):
        return found
    if not release.sources:
        by_hand = f"; get its files from {release.by_hand} and give their folder" if release.by_hand else ""
        raise DownloadError(
            f"{release.name} cannot be downloaded automatically: {release.notes or 'it has no address'}{by_hand}"
        )
    tell = current_listener()

    def waiting() -> None:
        text = f"{release.name} is being downloaded by another process; waiting for it"
        tell(DownloadReport("note", release.name, text=text))

    root = store_folder()
    root.mkdir(parents=True, exist_ok=True)
    with in_turn(root / f"{folder_name(release)}.lock", waiting):
        if not again and (found := find_download(release)):
            return found
        return _Pull(release, check, root, again).run()


@dataclass(frozen=True, slots=True)
class _Pull:
    """One download, with the lock held."""

    release: Release
    check: Check
    root: Path
    again: bool

    def run(self) -> Download:
        self._say_licence()
        failures: list[str] = []
        for number, source in enumerate(self.release.sources):
            staging = partial_path(self.root / folder_name(self.release)) / str(number)
            try:
                return self._from(source, staging)
            except DownloadError as error:
                failures.append(str(error))
                if number + 1 < len(self.release.sources):
                    self._note(f"{error}; the next place is tried")
        known = f"; what is known of it: {self.release.notes}" if self.release.notes else ""
        raise DownloadError(f"{self.release.name} could not be downloaded: {'; '.join(failures)}{known}")

    def _from(self, source: Source, staging: Path) -> Download:
        staging.mkdir(parents=True, exist_ok=True)
        _undo_completing(source, staging)
        files = self._files(source, staging)
        came = self._check_files(files)
        archive = files[0] if len(files) == 1 and is_archive(files[0]) else None
        try:
            self.check(_unpack(archive, staging / MODEL) if archive else staging)
        except FormatError as error:
            shutil.rmtree(staging, ignore_errors=True)
            hosts = ", ".join(sorted({urlsplit(url).netloc for url in source.values()}))
            raise DownloadError(f"what {hosts} sends cannot be used ({error})") from None
        if archive:
            archive.unlink()
        else:
            _move(files, staging / MODEL)
        return self._complete(source, staging, came)

    def _files(self, source: Source, staging: Path) -> list[Path]:
        """All files of a source, downloaded; files published in parts are joined."""
        paths = [staging / name for name in source]
        whole = _whole(paths)
        if whole is None or not whole.exists():
            for path, url in zip(paths, source.values(), strict=True):
                self._fetch(path.name, url, path)
        if whole is not None:
            _join(paths, whole)
        return [whole] if whole else paths

    def _fetch(self, name: str, url: str, path: Path) -> None:
        """Download one file, and check its first bytes; a file that is already here is not requested again."""
        if path.exists():
            return
        tell, begun = current_listener(), False

        def progress(done: int, total: int | None) -> None:
            nonlocal begun
            stage = "bytes" if begun else "begin"
            begun = True
            tell(DownloadReport(stage, self.release.name, name, url, done, total))  # type: ignore[arg-type]

        fetch(url, path, progress)
        tell(DownloadReport("end", self.release.name, name, url, path.stat().st_size, path.stat().st_size))
        try:
            check_contents(path)
        except DownloadError as error:
            path.unlink()
            raise DownloadError(f"{urlsplit(url).netloc} does not send it: {error}") from None

    def _check_files(self, files: list[Path]) -> dict[str, FileRecord]:
        """Compare the files with published checksums and with earlier downloads."""
        before = {} if self.again else read_records(self.root)
        came: dict[str, FileRecord] = {}
        for path in files:
            key = f"{self.release.name}/{path.name}"
            try:
                if path.name in self.release.checksums:
                    check_published(path, self.release.checksums[path.name])
                if key in before:
                    check_same(path, before[key], f"if it should be so: polyseme pull {self.release.name} --again")
            except DownloadError:
                path.unlink()
                raise
            came[key] = before.get(key) or record_of(path)
        return came

    def _complete(self, source: Source, staging: Path, came: dict[str, FileRecord]) -> Download:
        """Give the folder its final name, which completes the download."""
        model, folder = staging / MODEL, self.root / folder_name(self.release)
        paths = sorted(path for path in model.rglob("*") if path.is_file())
        files = {path.relative_to(model).as_posix(): record_of(path) for path in paths}
        urls = tuple(source.values())
        download = Download(self.release.name, folder, urls, datetime.now(UTC).date().isoformat(), files)
        for path in paths:
            sync(path)
        download.write(staging / MANIFEST)
        keep_records(self.root, came)
        delete_folder(folder)
        staging.rename(folder)
        shutil.rmtree(staging.parent, ignore_errors=True)
        return download

    def _say_licence(self) -> None:
        stated = f"its licence: {self.release.licence}" if self.release.licence else "its publisher states no licence"
        if is_url(self.release.name):
            stated = "nothing is known about its licence; look where the address comes from"
        self._note(f"{self.release.name}: {stated}")

    def _note(self, text: str) -> None:
        current_listener()(DownloadReport("note", self.release.name, text=text))


def _whole(paths: list[Path]) -> Path | None:
    """The whole file of parts such as x.part-00, x.part-01, …"""
    names = {match[1] if (match := PART.fullmatch(path.name)) else "" for path in paths}
    return paths[0].with_name(names.pop()) if len(names) == 1 and "" not in names else None


def _join(parts: list[Path], whole: Path) -> None:
    if not whole.exists():
        with replace_when_complete(whole) as joined:
            for path in parts:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, joined, 1 << 20)
    for path in parts:
        path.unlink(missing_ok=True)


def _unpack(archive: Path, model: Path) -> Path:
    model.mkdir()
    extract(archive, model)
    return model


def _move(files: list[Path], folder: Path) -> None:
    folder.mkdir()
    for path in files:
        path.rename(folder / path.name)


def _undo_completing(source: Source, staging: Path) -> None:
    """Move files back if a process was killed at the very end, after it had moved them to another folder."""
    for name in source:
        if (staging / MODEL / name).is_file() and not (staging / name).exists():
            (staging / MODEL / name).rename(staging / name)
    shutil.rmtree(staging / MODEL, ignore_errors=True)
    (staging / MANIFEST).unlink(missing_ok=True)


def check_contents(path: Path) -> None:
    """Refuse a web page, an empty file, and any file that is not what its name says."""
    with path.open("rb") as file:
        start = file.read(512)
    if not start:
        raise DownloadError(f"{path.name} is empty")
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(PAGE):
        raise DownloadError(f"a web page was sent instead of {path.name}")
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
