"""polyseme pull: download a model before it is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from polyseme.cli.options import Quiet


def pull(
    name: Annotated[
        str, typer.Argument(help="A name that polyseme models lists, an address or a hub id.", metavar="NAME")
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Even if it is here; what comes now counts as the right one.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Download a model and print its folder; one that is here is only checked. Stopped, it goes on where it was.

    Every command does the same by itself when it is given the name.

    Examples:

      polyseme pull small

      polyseme pull https://example.org/elmo_weights.hdf5
    """
    from polyseme.formats.detect import load_path
    from polyseme.formats.named import locate

    found = locate(name, load_path, again=again)
    typer.echo(str(found.path))
    if not quiet:
        typer.echo(f'next: polyseme embed text.txt --model "{name}" --out vectors.h5', err=True)
