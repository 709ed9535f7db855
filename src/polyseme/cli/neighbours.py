"""polyseme neighbours: which words of an indexed text are used like the one in brackets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli.options import OptionsFile
from polyseme.cli.printing import new_table, on_terminal, print_json, print_table, print_tsv, word_in_text

if TYPE_CHECKING:
    from polyseme.index.vector_index import Index, Neighbour


def neighbours(
    given: Annotated[
        list[str],
        typer.Argument(
            help="A folder written by polyseme index (by default, the small text that comes with polyseme), and a "
            'text with one word in brackets: "Live in the [present]."',
            metavar="[DIR] TEXT",
        ),
    ],
    by: Annotated[
        Literal["word", "place", "substitutes", "sense"] | None,
        typer.Option(
            help="What to compare: the word's own vector, or its context (docs/senses.md). By default, sense for the "
            "same word, and word for any."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many to show.", min=1)] = 10,
    layer: Annotated[
        int | None, typer.Option(help="The layer to compare; by default the highest in the index.", min=0)
    ] = None,
    same_word: Annotated[
        bool | None,
        typer.Option(
            "--same-word/--any-word",
            help="Only occurrences of the word in brackets, upper or lower case. The default if there are any, unless "
            "you set --by or --layer.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that made the index, if it cannot be found. Without an index: a model, and with it the "
            "language of the text that comes with polyseme; en by default."
        ),
    ] = None,
    options_file: OptionsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Find words in an indexed text that are used like the one in brackets, nearest first.

    By word and by place, every vector in the index is compared. In a pipe, the output is one tab-separated line per
    neighbour.

    Examples:

      polyseme neighbours "Here is your birthday [present]."

      polyseme neighbours corpus-index "He sat on the [bank] of the river ." --by sense -k 5 --json
    """
    from polyseme.errors import InputError, quoted
    from polyseme.prepared_text import read_target

    if len(given) > 2:
        raise typer.BadParameter("expected an index and a text; put the text in quotes", param_hint="TEXT")
    *folders, text = given
    if read_target(text)[1] is None:  # before a model is loaded
        raise InputError(f'no word is marked in {quoted(text)}; put one in brackets: "Live in the [present]."')
    opened = _open(folders[0], model, options_file) if folders else _shipped(model or "en", options_file)
    found = opened.neighbours(text, by=by, layer=layer, k=k, same_word=same_word)
    if not found:
        typer.echo(f"the word in brackets does not occur in {folders[0] if folders else 'the text'}", err=True)
    if as_json:
        print_json([_told(one) for one in found], indent=2)
    elif on_terminal():
        _print_table(found)
    else:
        print_tsv(
            ("similarity", "word", "sentence", "source", "document"),
            [(one.similarity, one.word, one.marked.replace("\t", " "), one.source, one.document) for one in found],
        )


def _open(folder: str, model: str | None, options: str | None) -> Index:
    from polyseme.elmo import Elmo
    from polyseme.index.vector_index import Index

    opened = Index.open(folder)
    if model is None:
        return opened
    noted = opened.description
    elmo = Elmo.from_pretrained(
        model,
        options=options,
        lang=noted.lang,
        state=noted.state,  # type: ignore[arg-type]
    )
    return Index.open(folder, elmo)


def _shipped(model: str, options: str | None) -> Index:
    """The text that comes with polyseme, indexed in memory."""
    from polyseme.elmo import Elmo
    from polyseme.index.vector_index import Index
    from polyseme.senses.shipped import needed_text

    elmo = Elmo.from_pretrained(model, options=options)
    path = needed_text(elmo.lang)
    return Index.in_memory(elmo, path.read_text(encoding="utf-8").splitlines(), source=path.name)


def _told(neighbour: Neighbour) -> dict[str, object]:
    told = asdict(neighbour)
    return {"similarity": told.pop("similarity"), "word": neighbour.word, "marked": neighbour.marked, **told}


def _print_table(found: list[Neighbour]) -> None:
    from rich.markup import escape

    table = new_table("similarity", "sentence", "where", left=("sentence", "where"))
    for one in found:
        table.add_row(
            f"{one.similarity:.3f}", word_in_text(one.text, one.span), escape(f"{Path(one.source).name} {one.document}")
        )
    print_table(table)
