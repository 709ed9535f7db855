"""A progress bar where a person watches: on a terminal, and only for what takes longer than a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Seconds of work before a bar appears.
PATIENCE = 2.0


class Progress:
    """``with Progress(total, "encoding") as progress: … progress.advance(count)``; on standard error."""

    def __init__(self, total: int, title: str) -> None:
        self.total, self.title, self.done = total, title, 0
        self._begun = time.monotonic()
        self._bar: Bar | None = None

    def advance(self, count: int) -> None:
        self.done += count
        if self._bar is None and time.monotonic() - self._begun > PATIENCE and sys.stderr.isatty():
            self._bar = _draw(self.title, self.total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _draw(title: str, total: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(title, total=total)
    bar.start()
    return bar
