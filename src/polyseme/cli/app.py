"""The command line: one file per verb, put together here.

An error that a user can act on is printed as one sentence. Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from polyseme import __version__
from polyseme.cli.prepare import prepare
from polyseme.cli.pretrain import pretrain
from polyseme.errors import PolysemeError

#: The verbs as ``polyseme --help`` groups them.
VERBS: dict[str, tuple[Callable[..., None], ...]] = {
    "Make a model": (prepare, pretrain),
}

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyseme {__version__}")
        raise typer.Exit


@app.callback()
def polyseme(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Contextual word vectors from bidirectional language models (ELMo)."""


def _in_one_sentence(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose errors are sentences and exit codes instead of tracebacks."""

    @functools.wraps(verb)
    def run(*args: Any, **options: Any) -> None:
        try:
            verb(*args, **options)
        except PolysemeError as error:
            typer.echo(f"polyseme: {error}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("polyseme: interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output, such as head, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None

    return run


for _panel, _verbs in VERBS.items():
    for _verb in _verbs:
        app.command(rich_help_panel=_panel)(_in_one_sentence(_verb))


def main() -> None:
    """Entry point of the ``polyseme`` command."""
    app()
