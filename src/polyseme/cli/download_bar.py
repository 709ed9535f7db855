"""A bar for every file that a verb downloads; lines where nobody watches, and nothing with --quiet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from polyseme.formats.releases.reports import DownloadReport, LinePrinter, reporting_to

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


@contextmanager
def shown_downloads(quiet: bool) -> Iterator[None]:
    """Downloads of the block are shown on standard error."""
    drawing = _Drawing()
    try:
        with reporting_to(_say_nothing if quiet else drawing):
            yield
    finally:
        drawing.stop()


def _say_nothing(report: DownloadReport) -> None:
    pass


class _Drawing:
    """Draws on a terminal, prints lines elsewhere; which of the two it is shows at the first report."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
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
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = Bar(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._bar.start()

    def _draw(self, bar: Bar, report: DownloadReport) -> None:
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
