"""polyseme serve: the explorer page and the HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.options import Device, OptionsFile, ShownIndexes, ShownModels, State, Threads


def serve(
    model: ShownModels = None,
    options_file: OptionsFile = None,
    index: ShownIndexes = None,
    task: Annotated[
        list[Path] | None,
        typer.Option(
            help="A run folder of polyseme task train that tags sentences; may be given again. Those of the box are "
            "there.",
            metavar="RUN",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; beyond this machine a token is needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on; 0: any that is free.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None, typer.Option(help="What clients have to send as bearer token.", envvar="POLYSEME_TOKEN")
    ] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="Let everybody ask, each client only so often: a demo, behind a proxy."),
    ] = False,
    root_path: Annotated[
        str, typer.Option(help="The folder in which a proxy shows the server.", metavar="/PATH", show_default=False)
    ] = "",
    cors: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose pages may ask, such as https://example.org, or *; may be given again.",
            metavar="ORIGIN",
            show_default=False,
        ),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Write a line of JSON for each request to stderr.")
    ] = False,
    state: State = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the address only.")] = False,
) -> None:
    """Serve a page that shows what a word means in its sentence, and an HTTP API for vectors.

    The API is described at /docs. Ctrl-C or SIGTERM end it when what runs is answered.

    Examples:

      polyseme serve --model ./my-model --state warm --port 8080

      polyseme serve --public --root-path /elmo --access-log
    """
    from polyseme.errors import MissingExtra

    try:
        from polyseme.serve.listening import Listening
        from polyseme.serve.served import load_models
        from polyseme.serve.server import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("polyseme"):
            raise
        raise MissingExtra("polyseme serve", "serve") from None

    where = Listening(
        host,
        port,
        token,
        public=public,
        root_path=root_path,
        origins=tuple(cors or ()),
        access_log=access_log,
    )
    models = load_models(
        model or [], index or [], options=options_file, state=state, device=device, threads=threads, tasks=task or []
    )

    def ready(address: str) -> None:
        typer.echo(address)
        if not quiet:
            names = ", ".join(one.name for one in models)
            typer.echo(f"serving {names}; the API is described at {address}/docs; end with Ctrl-C", err=True)

    run(models, where, ready=ready)
