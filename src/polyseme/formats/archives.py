"""Zip and tar archives, opened safely, into a temporary folder: nothing can escape from it or fill the disk.

Before anything is written, the name, kind and stated size of every entry are checked; while writing, bytes are counted,
because headers can lie.
"""

from __future__ import annotations

import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from polyseme.errors import FormatError

#: Weights hardly compress, and vocabularies about ten times; anything that expands more than this is a bomb.
LARGEST_EXPANSION = 100
ALWAYS_ALLOWED = 16 << 20  # bytes: a small archive may hold a file of zeros
MOST_ENTRIES = 10_000
CHUNK = 1 << 20

_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,  # an unsupported compression
    RuntimeError,  # an encrypted entry
    ValueError,
    UnicodeDecodeError,
)


def is_archive(path: Path) -> bool:
    """Whether the file is a zip or a (compressed) tar, by its content; torch's and NumPy's zip files do not count."""
    if not path.is_file():
        return False
    if is_zip(path):
        return not (is_torch_zip(path) or path.suffix == ".npz")
    with path.open("rb") as file:
        start = file.read(262)
    compressed = start.startswith((b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"))
    return start[257:262] == b"ustar" or (compressed and _holds_tar(path))


def is_zip(path: Path) -> bool:
    """Whether the file ends like a zip, even a damaged one: opening it will say what is wrong."""
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # its end refers to several disks
        return True


def is_torch_zip(path: Path) -> bool:
    """Whether a zip file is what ``torch.save`` writes."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except _BROKEN:
        return False


@contextmanager
def extracted(path: Path) -> Iterator[Path]:
    """A temporary folder with the archive's files, deleted when the block ends."""
    with tempfile.TemporaryDirectory(prefix="polyseme-") as name:
        extract(path, Path(name))
        yield Path(name)


def extract(path: Path, folder: Path) -> None:
    """Extract the archive's files into an existing empty folder."""
    allowed = max(LARGEST_EXPANSION * path.stat().st_size, ALWAYS_ALLOWED)
    allowed = min(allowed, shutil.disk_usage(folder).free)
    try:
        if is_zip(path):
            _extract_zip(path, folder, allowed)
        else:
            _extract_tar(path, folder, allowed)
    except _BROKEN as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FormatError(f"the archive is damaged or truncated ({reason}); copy or download it again") from None


def _extract_zip(path: Path, folder: Path, allowed: int) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        _check_count(len(entries))
        _check_total(sum(entry.file_size for entry in entries), allowed)
        for entry in entries:
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise _refusal(entry.filename, "is a link")
        targets = _targets([entry.filename for entry in entries], folder)
        for entry, target in zip(entries, targets, strict=True):
            with archive.open(entry) as stream:
                allowed -= _write(stream, target, allowed)


def _extract_tar(path: Path, folder: Path, allowed: int) -> None:
    # A compressed tar has no table of contents. It is read once for names and sizes, stopping as soon as they are too
    # large (reaching the next header means unpacking everything before it), and once for the files.
    names, total = [], 0
    with tarfile.open(path, "r:*") as archive:
        for entry in archive:
            if not (entry.isfile() or entry.isdir()):
                raise _refusal(entry.name, "is a link or a device")
            total += entry.size
            _check_total(total, allowed)
            if entry.isfile():
                names.append(entry.name)
            _check_count(len(names))
        targets = dict(zip(names, _targets(names, folder), strict=True))
        for name, target in targets.items():
            stream = archive.extractfile(name)
            assert stream is not None  # it is a file
            allowed -= _write(stream, target, allowed)


def _targets(names: list[str], folder: Path) -> list[Path]:
    targets = []
    for name in names:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        if not parts or PurePosixPath(name).is_absolute() or ".." in parts or ":" in parts[0] or "\0" in name:
            raise _refusal(name, "would be written outside its folder")
        targets.append(folder.joinpath(*parts))
    if len(set(targets)) != len(targets):
        twice = next(name for name, target in zip(names, targets, strict=True) if targets.count(target) > 1)
        raise _refusal(twice, "is there twice")
    return targets


def _write(stream: IO[bytes], target: Path, allowed: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("wb") as file:
        while chunk := stream.read(CHUNK):
            written += len(chunk)
            _check_total(written, allowed)
            file.write(chunk)
    return written


def _check_total(size: int, allowed: int) -> None:
    if size > allowed:
        raise FormatError(
            f"the archive unpacks to more than {allowed:,} bytes, far more than weights can or than the disk has; "
            "it was not unpacked"
        )


def _check_count(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise FormatError(
            f"the archive has more than {MOST_ENTRIES:,} files, so it is not a model; it was not unpacked"
        )


def _refusal(name: str, fact: str) -> FormatError:
    return FormatError(f"the archive's entry {name[:80]!r} {fact}, so the archive was not unpacked")


def _holds_tar(path: Path) -> bool:
    try:
        with tarfile.open(path, "r:*"):
            return True
    except _BROKEN:
        # A truncated or damaged tar.gz should be reported as such, not as "unknown"; only its name shows what it is.
        return path.name.endswith((".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"))
