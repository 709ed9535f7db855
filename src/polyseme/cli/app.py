"""The command line: one file per verb, put together here.

An error that a user can act on is printed as one sentence. So is anything a library raises: a full disk, too little
memory, a file that is not what its name says, a bug in polyseme itself. Exit codes: 0 done, 1 failed, 2 wrong use,
130 interrupted.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from polyseme import __version__
from polyseme.cli.bars import shown_downloads, shown_progress
from polyseme.cli.convert import convert
from polyseme.cli.demo import demo
from polyseme.cli.embed import embed
from polyseme.cli.evaluate import evaluate
from polyseme.cli.explore import explore
from polyseme.cli.export import export
from polyseme.cli.finetune import finetune
from polyseme.cli.index import index
from polyseme.cli.info import info
from polyseme.cli.models import models
from polyseme.cli.neighbours import neighbours
from polyseme.cli.prepare import prepare
from polyseme.cli.pretrain import pretrain
from polyseme.cli.pull import pull
from polyseme.cli.reproduce import reproduce
from polyseme.cli.score import score
from polyseme.cli.senses import senses
from polyseme.cli.serve import serve
from polyseme.cli.shift import shift
from polyseme.cli.substitutes import substitutes
from polyseme.cli.tag import tag
from polyseme.cli.task import evaluate as task_eval
from polyseme.cli.task import predict as task_predict
from polyseme.cli.task import train as task_train
from polyseme.errors import PolysemeError, reason_of

TASKS_PANEL = "Tasks and the paper"

#: The verbs as ``polyseme --help`` groups them.
VERBS: dict[str, tuple[Callable[..., None], ...]] = {
    "Use a model": (demo, embed, tag, models, pull, info, convert, export),
    "Make a model": (prepare, pretrain, finetune, evaluate),
    "Ask a model": (senses, shift, neighbours, index, score, substitutes),
    "Show a model": (serve, explore),
    TASKS_PANEL: (reproduce,),
}

#: Two-word verbs, by their first word: its help, and the verbs that may follow it.
GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "task": (
        "Train, score and use task models: entities, sentiment, inference, roles, questions, coreference.",
        {"train": task_train, "eval": task_eval, "predict": task_predict},
    ),
}
#: If this environment variable is set, errors that are not our own are shown with their traceback.
TRACEBACK = "POLYSEME_TRACEBACK"

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_SAYS_FULL = re.compile(r"no space left|file too large|disk quota exceeded|os error (?:28|27|122)\b", re.IGNORECASE)
_SAYS_MEMORY = re.compile(
    r"can't allocate|cannot allocate memory|unable to allocate|not enough memory|out of memory|bad_alloc"
    r"|malloc of size|failed to allocate|can't start new thread|could not create a primitive",
    re.IGNORECASE,
)


class _Verb(TyperCommand):
    """A verb with plain-text help: a word in brackets, such as [present], is not markup, and flags show no type."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _shown_plainly(self.get_params(ctx)):
            super().format_help(ctx, formatter)


class _Group(TyperGroup):
    """The same for ``polyseme`` and ``polyseme task``."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _shown_plainly(self.get_params(ctx)):
            super().format_help(ctx, formatter)


@contextmanager
def _shown_plainly(parameters: list[Any]) -> Iterator[None]:
    """Within the block, flags are shown without "<bool>", which says nothing, and their help names their opposite.

    A column of opposites (--no-layer-norm) would leave no room for the help on a terminal of 80 columns.
    """
    before = [(one, one.help, one.secondary_opts) for one in parameters if hasattr(one, "help")]
    for one, text, opposites in before:
        named = f" {', '.join(opposites)} turns it off." if opposites else ""
        one.help, one.secondary_opts = _plain(text or "") + named, []
        if getattr(one, "is_flag", False):
            one.display_type_rich = _no_type
    yield
    for one, text, opposites in before:
        one.help, one.secondary_opts = text, opposites


def _no_type(ctx: Any) -> None:
    """Show nothing instead of "<bool>"."""


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


app = typer.Typer(
    name="polyseme",
    cls=_Group,
    epilog="The help of every command ends with examples: polyseme embed --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def in_one_sentence(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose errors are sentences and exit codes instead of tracebacks."""

    @functools.wraps(verb)
    def run(*args: Any, **options: Any) -> None:
        try:
            quiet = bool(options.get("quiet"))
            with shown_downloads(quiet), shown_progress(quiet), shown_warnings():
                verb(*args, **options)
            sys.stdout.flush()  # here and not at exit, where a closed pipe would print a traceback
        except PolysemeError as error:
            raise _failed(str(error)) from None
        except KeyboardInterrupt:
            typer.echo("polyseme: interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output, such as head, has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            raise _failed(sentence_of(error)) from None

    return run


def _failed(sentence: str) -> typer.Exit:
    typer.echo(f"polyseme: {sentence}", err=True)
    return typer.Exit(1)


def help_and_examples(verb: Callable[..., None]) -> tuple[str, str]:
    """The two parts of a verb's docstring; the examples end its help, after the options."""
    text, _, examples = (inspect.getdoc(verb) or "").partition("\n\nExamples:\n\n")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text), examples  # a paragraph is one line, which the terminal wraps


def _register(verb: Callable[..., None], panel: str | None, *, name: str | None = None, to: typer.Typer = app) -> None:
    text, examples = map(_plain, help_and_examples(verb))
    register = to.command(name, cls=_Verb, help=text, epilog=f"Examples:\n\n{examples}", rich_help_panel=panel)
    register(in_one_sentence(verb))


for _panel, _verbs in VERBS.items():
    for _verb in _verbs:
        _register(_verb, _panel)

for _first, (_help, _seconds) in GROUPS.items():
    _group = typer.Typer(cls=_Group, no_args_is_help=True, help=_help)
    for _second, _verb in _seconds.items():
        _register(_verb, None, name=_second, to=_group)
    app.add_typer(_group, name=_first, rich_help_panel=TASKS_PANEL)


def main() -> None:
    """Entry point of the ``polyseme`` command."""
    app()


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print our own warnings as one line, as errors are, without their place in the code."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category.__module__.startswith("polyseme"):
                typer.echo(f"polyseme: warning: {message}", err=True)
            else:
                before(message, category, *place, **more)

        warnings.showwarning = show
        yield


def sentence_of(error: Exception) -> str:
    """The error as one sentence, for people who do not read tracebacks."""
    said = " ".join(str(error).split())
    if (isinstance(error, OSError) and error.errno in _FULL) or _SAYS_FULL.search(said):
        return f"no space left on the disk{_named(error)}; make room and run the command again"
    if isinstance(error, MemoryError) or _SAYS_MEMORY.search(said):
        return (
            f"there is not enough memory ({said[:120] or 'the system gave none'}); close other programs, or give less"
        )
    if isinstance(error, OSError) and error.filename is not None:
        name = str(error.filename).removesuffix(".partial")  # as the user gave it
        return f"{name} cannot be used: {reason_of(error)}"
    if isinstance(error, OSError):
        return f"the system refused: {(error.strerror or said or type(error).__name__).lower()}"
    if "integer string conversion" in said:
        return "a number has far more digits than polyseme ever needs; correct it"
    if type(error).__name__ == "BadZipFile":
        return f"a file is not a zip archive, or is damaged ({said[:120]}); check that its name matches its content"
    if isinstance(error, RecursionError):
        return "a file is nested too deeply to be read"
    return (
        f"this should not have happened ({type(error).__name__}: {said[:200]}); please report it, with what "
        f"{TRACEBACK}=1 in the environment shows"
    )


def _named(error: Exception) -> str:
    filename = getattr(error, "filename", None)
    return f" for {os.fspath(filename)}".removesuffix(".partial") if isinstance(filename, str | os.PathLike) else ""
