"""polyseme index: the vectors of every word of a text, which polyseme neighbours searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from polyseme.cli.bars import resumable
from polyseme.cli.options import Device, Overwrite, Quiet, ReadingOptions, Threads, from_everywhere, with_groups


@with_groups
def index(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Text files or globs (txt, jsonl, csv, tsv, parquet, conllu, fasta; also .gz .xz .bz2 .zst).",
            metavar="FILE",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.", metavar="DIR")],
    reading: ReadingOptions,
    layers: Annotated[
        str, typer.Option(help="Layers to store: top, all, or numbers.", metavar="top|all|0,1,…")
    ] = "top",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted index.")] = False,
    overwrite: Overwrite = False,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Index every word of a text by its vectors, for polyseme neighbours. --resume continues after a stop.

    A million tokens take half a gigabyte of disk for each layer of 256 numbers, and no more memory than a thousand.

    Examples:

      polyseme index corpus.txt --out corpus-index

      polyseme index reviews.csv --field body --layers 1,2 --out reviews-index
    """
    from polyseme.index.vector_index import Index

    chosen = _layers(layers)
    elmo = reading.load(device=device, threads=threads)
    with resumable(quiet):
        built = Index.build(
            elmo,
            inputs,
            out,
            layers=chosen,
            model=from_everywhere(reading.model),
            options=None if reading.options_file is None else from_everywhere(reading.options_file),
            field=reading.field,
            kind=reading.kind,
            resume=resume,
            overwrite=overwrite,
        )
    if not quiet:
        typer.echo(f"{out}: {len(built):,} tokens of {built.sentences:,} sentences", err=True)
        typer.echo(f'next: polyseme neighbours {out} "Here is your birthday [present] ."', err=True)


def _layers(given: str) -> Literal["top", "all"] | list[int]:
    if given == "top":
        return "top"
    if given == "all":
        return "all"
    try:
        return [int(number) for number in given.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{given!r} is not top, all or numbers such as 1,2", param_hint="--layers") from None
