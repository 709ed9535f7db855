"""A toy for the demo while no English model is bundled: trained on a page of text, here and now.

Only demo.py uses it. When polyseme/models/en is there, this file goes, and with it what demo.py does if ``toy``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from polyseme.pretrain.run import Watch
    from polyseme.pretrain.trainer import StepReport

FAREWELL = (
    "[bold]This was a toy model.[/bold] It has read one page of text, a hundred times over, and knows no "
    "more English than that. Train one of your own with [cyan]polyseme prepare[/cyan] and "
    "[cyan]polyseme pretrain[/cyan], or load a released one: [cyan]polyseme info MODEL[/cyan]."
)


def train_toy_model(console: Console, folder: Path) -> None:
    """Train a toy into ``folder``."""
    from polyseme.elmo import Elmo
    from polyseme.pretrain.toy import TOKENS, train_toy

    with tempfile.TemporaryDirectory() as temporary, _training_bar(console, TOKENS) as watch:
        Elmo.from_pretrained(train_toy(Path(temporary), tokens=TOKENS, watch=watch)).save_pretrained(folder)


def toy_commands() -> list[str]:
    """The commands that would do the same."""
    from polyseme.pretrain.toy import CHANGES, TEXT

    changes = " ".join(f"--set {change}" for change in CHANGES)
    return [
        f"polyseme prepare {TEXT.name} --out corpus",
        f"polyseme pretrain corpus --recipe tiny {changes} --out run",
    ]


def toy_lines() -> list[str]:
    """The sentences that the toy knows."""
    from polyseme.pretrain.toy import TEXT

    return [line for line in TEXT.read_text(encoding="utf-8").splitlines() if line]


@contextmanager
def _training_bar(console: Console, tokens: int) -> Iterator[Watch]:
    """A bar while the toy is trained, and one line when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from polyseme.pretrain.run import Watch

    reports: list[StepReport] = []
    began = time.monotonic()
    columns = (TextColumn("training"), BarColumn(), TextColumn("loss {task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, width=console.width), transient=True) as bar:
        task = bar.add_task("", total=tokens)

        def stepped(report: StepReport) -> None:
            reports.append(report)
            bar.update(task, completed=report.tokens, description=f"{report.loss:.2f}")

        yield Watch(stepped=stepped)
    console.print(
        f"{reports[-1].tokens:,} tokens in {time.monotonic() - began:.0f} s: "
        f"the loss fell from {reports[0].loss:.2f} to {reports[-1].loss:.2f}",
        highlight=False,
    )
