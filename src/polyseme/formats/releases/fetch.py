"""Downloads one file from one address despite network failures: it resumes, and the file appears once it is complete.

    weights.hdf5.partial         the bytes so far; they are only ever appended
    weights.hdf5.partial.json    where they come from: the address, size and version (ETag) of the file

Servers are not trusted: bytes are counted, a broken connection is resumed with a range request, and if the server has
another version, or does not support ranges, the file is downloaded from the beginning.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from polyseme import __version__
from polyseme.errors import DownloadError, JobError
from polyseme.formats.releases.known import SCHEMES
from polyseme.jobs.atomic import partial_path, put_in_place, raise_if_disk_full

BLOCK = 1 << 18
#: Fewer bytes than this do not count as progress: a server that sends so little at a time is given up.
LEAST_PROGRESS = 1 << 12
#: Status codes of temporary failures.
PASSING = {408, 425, 429, 500, 502, 503, 504}
NO_SUCH_RANGE = 416

Progress = Callable[[int, int | None], None]  #: (bytes so far, total bytes if known)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may be silent, and how often in a row it may fail."""

    seconds: float = 30.0
    tries: int = 5
    pause: float = 1.0  #: before the second try; doubled before each further one


PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class _Version:
    """What the server said about a partly downloaded file."""

    url: str
    total: int | None
    tag: str  #: its ETag, or the date of its last change


class _BrokenOff(Exception):
    """The connection failed; another try may succeed."""


def fetch(url: str, path: Path, progress: Progress, patience: Patience | None = None) -> None:
    """Download ``url`` to ``path``, continuing an earlier call that did not finish."""
    patience = patience or PATIENCE
    beside, failures = partial_path(path), 0
    most = _size(beside)
    while True:
        try:
            _receive(url, path, progress, patience.seconds)
            break
        except _BrokenOff as error:
            failures += 1
            if _size(beside) >= most + LEAST_PROGRESS:  # further than before, so the count of failures starts again
                failures, most = 0, _size(beside)
            if failures >= patience.tries:
                raise DownloadError(f"{_host(url)} {error}") from None
            time.sleep(patience.pause * 2 ** max(failures - 1, 0))
        except OSError as error:
            raise_if_disk_full(error, path, "make room and try again; what is here is kept")
            raise
    put_in_place(beside, path)
    _note_path(path).unlink(missing_ok=True)


def _receive(url: str, path: Path, progress: Progress, seconds: float) -> None:
    """Download the missing bytes in one connection."""
    beside, known = partial_path(path), _read_note(path)
    here = _size(beside) if known and known.url == url else 0
    try:
        answer = _open(url, known if here else None, here, seconds)
    except urllib.error.HTTPError as error:
        if error.code == NO_SUCH_RANGE and here and _promised(error.headers) in (here, None):
            return  # nothing is missing, whatever size was stated at first
        raise _refusal(url, error, beside) from None
    except TimeoutError:
        raise _silent(seconds) from None
    except urllib.error.URLError as error:
        raise _unreachable(url, error.reason, seconds) from None
    except (http.client.HTTPException, OSError) as error:
        raise _broken_off(error) from None
    except ValueError as error:
        raise DownloadError(f"{url!r} is not an address ({error})") from None
    with answer:
        version = _version(url, answer)
        start = here if answer.status == http.client.PARTIAL_CONTENT else 0
        if answer.status == http.client.PARTIAL_CONTENT and not _continues(answer, version, known, here):
            beside.unlink(missing_ok=True)  # start from the beginning
            raise _BrokenOff("sends other parts of the file than requested")
        if start == 0:
            beside.unlink(missing_ok=True)  # before the note: the two must never describe different versions
        _check_room(path, version.total, start)
        _note_path(path).write_text(json.dumps(asdict(version)), encoding="utf-8")
        _append(answer, beside, start, version.total, progress, seconds)


def _append(answer: Any, beside: Path, start: int, total: int | None, progress: Progress, seconds: float) -> None:
    done = start
    with beside.open("ab") as file:
        progress(done, total)
        while block := _read(answer, seconds):
            file.write(block)
            file.flush()  # to the system: a killed process loses nothing that it has reported
            done += len(block)
            progress(done, total)
    if total is not None and done < total:
        raise _BrokenOff(f"promises {total:,} bytes and breaks off after {done:,}")


def _read(answer: Any, seconds: float) -> bytes:
    try:
        block: bytes = answer.read1(BLOCK)  # what is available now, so a later silence loses nothing
    except TimeoutError:
        raise _silent(seconds) from None
    except (http.client.HTTPException, OSError) as error:
        raise _broken_off(error) from None
    return block


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to web addresses, and never from an encrypted one to an unencrypted one."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        there = urlsplit(newurl)
        if there.scheme not in SCHEMES or (req.type == "https" and there.scheme != "https"):
            raise DownloadError(f"{_host(req.full_url)} sends on to {newurl[:80]!r}, which is not safe to follow")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(url: str, known: _Version | None, here: int, seconds: float) -> Any:
    headers = {"User-Agent": f"polyseme/{__version__}", "Accept-Encoding": "identity"}
    if here and known is not None:
        headers["Range"] = f"bytes={here}-"
        if known.tag:
            headers["If-Range"] = known.tag
    request = urllib.request.Request(url, headers=headers)
    return urllib.request.build_opener(_SafeRedirects).open(request, timeout=seconds)


def _version(url: str, answer: Any) -> _Version:
    length = answer.headers.get("Content-Length")
    total = int(length) if length and length.isdecimal() else None
    if answer.status == http.client.PARTIAL_CONTENT:
        total = _promised(answer.headers)
    tag = answer.headers.get("ETag") or ""
    if tag.startswith("W/") or not tag:  # a weak tag says nothing about bytes
        tag = answer.headers.get("Last-Modified") or ""
    return _Version(url, total, tag)


def _continues(answer: Any, version: _Version, known: _Version | None, here: int) -> bool:
    """Whether the answer continues our partial file, and the total size is the same."""
    match = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
    first = int(match[1]) if match else None
    return first == here and known is not None and known.total in (None, version.total)


def _promised(headers: Any) -> int | None:
    """Content-Range: bytes 5-9/10, or bytes */10 → 10"""
    match = re.search(r"/(\d+)$", headers.get("Content-Range") or "")
    return int(match[1]) if match else None


def _check_room(path: Path, total: int | None, here: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if total is not None and total - here > free:
        raise JobError(
            f"{path.name} has {total:,} bytes, but {path.parent} has room for {free:,}; "
            "make room, or choose another folder with POLYSEME_HOME"
        )


def _refusal(url: str, error: urllib.error.HTTPError, beside: Path) -> Exception:
    if error.code == NO_SUCH_RANGE:
        beside.unlink(missing_ok=True)
    if error.code in PASSING or error.code == NO_SUCH_RANGE:
        return _BrokenOff(f"answers {error.code} ({_first_line(error.reason)})")
    return DownloadError(f"{_host(url)} answers {error.code} ({_first_line(error.reason)})")


def _unreachable(url: str, reason: object, seconds: float) -> Exception:
    if isinstance(reason, TimeoutError):
        return _silent(seconds)
    if isinstance(reason, ConnectionResetError | BrokenPipeError):
        return _broken_off(reason)
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return DownloadError(f"{_host(url)} cannot be reached ({_first_line(text)})")


def _silent(seconds: float) -> _BrokenOff:
    return _BrokenOff(f"is silent for {seconds:.0f} seconds")


def _broken_off(error: Exception) -> _BrokenOff:
    return _BrokenOff(f"breaks the connection off ({_first_line(error)})")


def _note_path(path: Path) -> Path:
    return path.with_name(path.name + ".partial.json")


def _read_note(path: Path) -> _Version | None:
    try:
        return _Version(**json.loads(_note_path(path).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _host(url: str) -> str:
    return urlsplit(url).netloc or url


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".").lower()[:120]
