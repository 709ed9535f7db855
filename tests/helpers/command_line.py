"""The command line from outside: parsed, run in this process or in one of its own, and a toy model to run it on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from polyseme.cli.app import app

#: So that what is printed does not depend on the terminal or the platform.
PLAIN = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "TERM": "dumb"}
#: Seconds that a verb may take to end; the machine may be busy.
PATIENCE = 300.0

signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")


def parse(line: str) -> Any:
    """A command line ("polyseme info model") → its parsed context; wrong use raises click's UsageError."""
    program, *arguments = shlex.split(line)
    assert program == "polyseme"
    command: Any = get_command(app)
    while hasattr(command, "commands"):  # a group of verbs
        name, *arguments = arguments
        command = command.commands[name]
    return command.make_context(line, arguments)


def polyseme(*arguments: str, code: int = 0) -> Result:
    """Run a verb in this process, and see that it ends with ``code``."""
    result = CliRunner(env=PLAIN).invoke(app, list(arguments))
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def refusal(*arguments: str) -> str:
    """The sentence with which a verb fails; it prints nothing else."""
    result = polyseme(*arguments, code=1)
    assert result.stdout == ""
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("polyseme: ")
    return sentence


def start(*arguments: str, cwd: Path, on_terminal: int | None = None, **options: Any) -> subprocess.Popen[str]:
    """A verb in a process of its own; standard output and error are pipes, or the given terminal."""
    where = subprocess.PIPE if on_terminal is None else on_terminal
    return subprocess.Popen(
        [sys.executable, "-m", "polyseme", *arguments],
        cwd=cwd,
        env=os.environ | PLAIN,
        stdout=where,
        stderr=where,
        encoding="utf-8",
        **options,
    )


def read_until(process: subprocess.Popen[str], beginning: str) -> None:
    """Until a running verb says a line that begins so."""
    assert process.stderr is not None
    line = process.stderr.readline()
    while not line.startswith(beginning):
        assert line, f"it ended before it said {beginning!r}"
        line = process.stderr.readline()


def interrupt(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; what the verb says to that, and it prints no more results."""
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, ""), said
    assert "Traceback" not in said
    return said


@cache
def toy_model() -> Path:
    """A native folder, as `polyseme demo` trains it, only much shorter."""
    from polyseme.pretrain.toy import train_toy

    return train_toy(Path(tempfile.mkdtemp(prefix="polyseme-toy-")), tokens=2000)
