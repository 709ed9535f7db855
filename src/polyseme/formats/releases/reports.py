"""Progress reports of downloads, sent to a listener.

    with reporting_to(show):                        # show(report) is called often; it should be quick
        Elmo.from_pretrained("original")

Without a listener, a line is printed when a file begins and every ten seconds. The command line draws bars instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from polyseme.jobs.progress import held

#: Seconds between two lines.
PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class DownloadReport:
    """One step of a download."""

    #: "begin": a file begins; "bytes": more bytes have arrived; "note": a message; "end": the file is complete
    stage: Literal["begin", "bytes", "note", "end"]
    release: str
    file: str = ""
    url: str = ""
    done: int = 0  #: bytes so far
    total: int | None = None  #: total bytes, if the server says so
    text: str = ""  #: of a note


Listener = Callable[[DownloadReport], None]


class LinePrinter:
    """Prints a line to standard error when a file begins, every few seconds, and for every note."""

    def __init__(self, pause: float = PAUSE) -> None:
        self.pause = pause
        self._next = 0.0

    def __call__(self, report: DownloadReport) -> None:
        if report.stage == "note":
            self._print(report.text)
        elif report.stage == "begin":
            self._next = time.monotonic() + self.pause
            self._print(f"downloading {report.release}: {file_line(report)}")
        elif report.stage == "bytes" and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.pause
            self._print(f"downloading {report.release}: {report.file}, {amount(report)}")

    def _print(self, line: str) -> None:
        print(f"polyseme: {line}", file=sys.stderr, flush=True)


def file_line(report: DownloadReport) -> str:
    """A line about a file that begins: its size and where it comes from."""
    size = "unknown size" if report.total is None else shown_size(report.total)
    rest = f", {shown_size(report.done)} of it are here" if report.done else ""
    return f"{report.file}, {size}{rest}, from {urlsplit(report.url).netloc}"


def amount(report: DownloadReport) -> str:
    """How much of a file has been downloaded."""
    return shown_size(report.done) + (f" of {shown_size(report.total)}" if report.total else "")


def shown_size(count: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if count >= 99.95 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


_listener: ContextVar[Listener | None] = ContextVar("polyseme_downloads", default=None)


def reporting_to(listener: Listener) -> AbstractContextManager[None]:
    """Within the block, downloads of this thread report to ``listener``."""
    return held(_listener, listener)


def current_listener() -> Listener:
    return _listener.get() or LinePrinter()
