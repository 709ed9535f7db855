"""Progress as a person sees it: a bar on a terminal, a line a minute where there is none, nothing with --quiet.

The library only reports events; this is the one place that draws them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from polyseme.jobs.progress import Progress, reporting_progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

#: Seconds of work before a bar appears, and between two lines where nobody watches.
PATIENCE, LINE_SECONDS = 2.0, 60.0


@contextmanager
def shown_progress(quiet: bool) -> Iterator[None]:
    """What the block does is shown on standard error."""
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
    """Of those that train together (torchrun), one speaks."""
    return os.environ.get("RANK", "0") == "0"


class _Bar:
    """One bar at a time; it goes when its work is done."""

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
    """Lines for a log."""

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
    """Tokens, their pace, and what the work adds."""
    pace = f"{progress.tokens / progress.seconds:,.0f}/s" if progress.tokens and progress.seconds else ""
    tokens = f"{progress.tokens:,} tokens" if progress.tokens else ""
    return ", ".join(filter(None, [tokens, pace, progress.note]))


def shown_duration(seconds: float) -> str:
    """ "12.3 s", "45 min", "3.5 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 100 else f"{hours:.1f} h"
