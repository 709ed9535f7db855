"""How progress is shown: a bar on a terminal, one line a minute elsewhere, nothing with --quiet.

Each downloaded file has its own bar. The library only reports events; this is the one place that draws them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from polyseme.formats.releases.reports import DownloadReport, LinePrinter, reporting_to
from polyseme.jobs.progress import Progress, reporting_progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

#: Seconds of work before a bar appears, and between two lines of a log.
PATIENCE, LINE_SECONDS = 2.0, 60.0


@contextmanager
def shown_progress(quiet: bool) -> Iterator[None]:
    """Show the progress of the block on standard error."""
    if quiet or not is_first_process():
        with reporting_progress(None):
            yield
        return
    shown = _Bar() if sys.stderr.isatty() else _Lines()
    try:
        with reporting_progress(shown):
            yield
    finally:
        shown.close()


def is_first_process() -> bool:
    """Of the processes that train together (torchrun), only the first one prints."""
    return os.environ.get("RANK", "0") == "0"


class _Bar:
    """One bar at a time; it disappears when its work is done."""

    def __init__(self) -> None:
        self._title = ""
        self._bar: RichProgress | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.ended or progress.title != self._title:
            self.close()
        if progress.ended or progress.seconds < PATIENCE:
            return
        if self._bar is None:
            self._title, self._bar = progress.title, _draw(progress)
        self._bar.update(self._bar.task_ids[0], completed=progress.done, total=progress.total, facts=_facts(progress))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


class _Lines:
    """Progress as lines of a log."""

    def __init__(self) -> None:
        self._first = Progress("", 0, None)
        self._next = LINE_SECONDS

    def __call__(self, progress: Progress) -> None:
        if progress.title != self._first.title:
            self._first, self._next = progress, LINE_SECONDS
        if progress.ended or progress.seconds < self._next:
            return
        self._next = progress.seconds + LINE_SECONDS
        share = f"{progress.done / progress.total:.0%}" if progress.total else ""
        facts = [share, _facts(progress), self._left(progress)]
        typer.echo(f"{progress.title}: {', '.join(filter(None, facts))}", err=True)

    def _left(self, progress: Progress) -> str:
        done = progress.done - self._first.done
        if progress.total is None or not done:
            return ""
        seconds = (progress.total - progress.done) / done * (progress.seconds - self._first.seconds)
        return f"{shown_duration(seconds)} left"

    def close(self) -> None:
        pass


def _draw(progress: Progress) -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[facts]}"))
    bar = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    bar.add_task(progress.title, total=progress.total, completed=progress.done, facts="")
    bar.start()
    return bar


def _facts(progress: Progress) -> str:
    """Tokens, tokens per second, and the note that the work adds."""
    pace = f"{progress.tokens / progress.seconds:,.0f}/s" if progress.tokens and progress.seconds else ""
    tokens = f"{progress.tokens:,} tokens" if progress.tokens else ""
    return ", ".join(filter(None, [tokens, pace, progress.note]))


def shown_duration(seconds: float) -> str:
    """ "12.3 s", "45 min", "3.5 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 100 else f"{hours:.1f} h"


@contextmanager
def shown_downloads(quiet: bool) -> Iterator[None]:
    """Show the downloads of the block on standard error."""
    drawing = _Downloads()
    try:
        with reporting_to(_say_nothing if quiet else drawing):
            yield
    finally:
        drawing.stop()


def _say_nothing(report: DownloadReport) -> None:
    pass


class _Downloads:
    """Draws bars on a terminal and prints lines elsewhere; the first report decides which."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._lines: LinePrinter | None = None

    def __call__(self, report: DownloadReport) -> None:
        if self._bar is None and self._lines is None:
            self._begin()
        if self._lines is not None:
            self._lines(report)
        elif self._bar is not None:
            self._draw(self._bar, report)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _begin(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_terminal:
            self._lines = LinePrinter()
            return
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = RichProgress(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._bar.start()

    def _draw(self, bar: RichProgress, report: DownloadReport) -> None:
        if report.stage == "note":
            bar.stop()
            typer.echo(f"polyseme: {report.text}", err=True)
            bar.start()
            return
        if report.stage == "begin":
            for task in bar.task_ids:
                bar.remove_task(task)
            title = f"{report.release}: {report.file} from {urlsplit(report.url).netloc}"
            bar.add_task(title, total=report.total, completed=report.done)
        elif bar.task_ids:
            bar.update(bar.task_ids[-1], completed=report.done, total=report.total)


@contextmanager
def resumable(quiet: bool) -> Iterator[None]:
    """Run a job; if it is interrupted, print how to continue it."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            typer.echo("interrupted; continue with the same command and --resume", err=True)
        raise
