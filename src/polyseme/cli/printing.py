"""Rows for people and for programs: a table on a terminal, tab-separated lines in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

AROUND = 50  #: characters that are shown on either side of a word
EIGHTHS = " ▏▎▍▌▋▊▉█"


def on_terminal() -> bool:
    """Whether a person reads standard output."""
    return sys.stdout.isatty()


def print_tsv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print the header and each row as it comes; if there is an error before the first row, nothing is printed."""
    for number, row in enumerate(rows):
        if number == 0:
            typer.echo("\t".join(header))
        typer.echo("\t".join(_plain(value) for value in row))


def print_json(value: object, indent: int | None = None) -> None:
    """On one line, or indented for people."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """Text for a cell, in which brackets are not markup."""
    from rich.markup import escape

    return escape(text)


def new_table(*columns: str, title: str | None = None, left: Sequence[str] = (), bars: Sequence[str] = ()) -> Table:
    """An empty table whose columns hold numbers, except those named in ``left``, which hold text, and ``bars``.

    Text goes on in the next line: an ellipsis would replace the last letter of a line of wide letters that fills the
    column, because Rich does not strip the space after it.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for column in columns:
        if column in bars:
            table.add_column(column, no_wrap=True, overflow="crop")
        elif column in left:
            table.add_column(column, overflow="fold")
        else:
            least = max(map(len, column.split()), default=0)  # headings of numbers are never cut
            table.add_column(column, justify="right", min_width=least, overflow="fold")
    return table


def print_table(table: Table) -> None:
    from rich.console import Console

    Console().print(table)


def word_in_text(text: str, span: tuple[int, int]) -> Text:
    """A word in colour in its text, which is cut on both sides where it is long."""
    from rich.text import Text

    before, word, after = text[: span[0]], text[slice(*span)], text[span[1] :]
    before = "…" + before[-AROUND:] if len(before) > AROUND else before
    after = after[:AROUND] + "…" if len(after) > AROUND else after
    return Text.assemble(before, (word, "cyan"), after)


def bar(share: float, width: int = 16) -> str:
    """A bar of at most ``width`` characters, drawn to an eighth of a character."""
    eighths = round(8 * width * min(1.0, max(0.0, share)))
    return EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _plain(value: object) -> str:
    """A value as text: floats with six significant digits, None as an empty string."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
