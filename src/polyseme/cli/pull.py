"""polyseme pull: download a model before it is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from polyseme.cli.options import Quiet


def pull(
    name: Annotated[
        str, typer.Argument(help="A name listed by polyseme models, an address or a hub id.", metavar="NAME")
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Download it even if it is here, and trust the new files.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Download a model, or check it if it is here, and print its folder. A stopped download continues.

    Every command does this by itself when you give it a name.

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
