"""polyseme serve: the explorer page and the HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.options import Device, OptionsFile, ShownIndexes, ShownModels, State, Threads
from polyseme.extras import needing


def serve(
    model: ShownModels = None,
    options_file: OptionsFile = None,
    index: ShownIndexes = None,
    task: Annotated[
        list[Path] | None,
        typer.Option(
            help="A run folder of polyseme task train, for a task that tags sentences; may be repeated. The bundled "
            "task models are always available.",
            metavar="RUN",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; for other machines, a token is needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes any free one.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None, typer.Option(help="The bearer token that clients must send.", envvar="POLYSEME_TOKEN")
    ] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="A public demo behind a proxy: no token, but a rate limit per client."),
    ] = False,
    root_path: Annotated[
        str, typer.Option(help="The path under which a proxy serves it.", metavar="/PATH", show_default=False)
    ] = "",
    cors: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin whose pages may send requests, such as https://example.org, or *; may be repeated.",
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

    The API is documented at /docs. After Ctrl-C or SIGTERM, running requests are still answered.

    Examples:

      polyseme serve --model ./my-model --state warm --port 8080

      polyseme serve --public --root-path /elmo --access-log
    """
    with needing("polyseme serve", "serve"):
        from polyseme.serve.listening import Listening
        from polyseme.serve.served import load_models
        from polyseme.serve.server import serve as run

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
