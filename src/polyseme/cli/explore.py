"""polyseme explore: the explorer page as a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.options import OptionsFile, Overwrite, Quiet, ShownIndexes, ShownModels, Threads
from polyseme.extras import needing


def explore(
    export: Annotated[Path, typer.Option(help="The folder to write the site to.", metavar="DIR")],
    model: ShownModels = None,
    options_file: OptionsFile = None,
    index: ShownIndexes = None,
    words: Annotated[
        str | None,
        typer.Option(help="Words to show, separated by commas; by default, fifty ambiguous words per language."),
    ] = None,
    address: Annotated[
        str, typer.Option(help="The site's future address, so that links to it show a preview.", metavar="URL")
    ] = "",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the explorer as a static site that works without a server, with precomputed words.

    To explore any sentence on your own machine: polyseme serve

    Examples:

      polyseme explore --export site --address https://example.github.io/elmo/

      polyseme explore --export site --model en --words bank,spring,match
    """
    from polyseme.cli.bars import shown_progress

    with needing("polyseme explore", "serve"):
        from polyseme.serve.served import load_models
        from polyseme.serve.site import check_folder, write_site

    check_folder(export, overwrite)
    models = load_models(model or [], index or [], options=options_file, threads=threads)
    chosen = [word for word in words.split(",") if word] if words else None
    with shown_progress(quiet):
        models.index_now()
        count = write_site(models, export, chosen, address)
    if not quiet:
        words = f"{count:,} word{'s' if count != 1 else ''}"
        typer.echo(f"{words} in {export}; look at the site: python -m http.server --directory {export}", err=True)
    typer.echo(str(export))
