"""Bars are drawn on a terminal, for work of more than a moment; lines elsewhere; nothing with --quiet."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path

import pytest

from helpers.command_line import start, toy_model
from polyseme.cli import bars
from polyseme.cli.bars import shown_progress
from polyseme.jobs.progress import working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, seconds: float, *, quiet: bool = False) -> str:
    """What is on the screen after work of so many seconds."""
    began = time.monotonic()
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress(quiet), working("encoding", 10) as work, monkeypatch.context() as clock:
        clock.setattr(time, "monotonic", lambda: began + seconds)
        work.advance(5, tokens=700, note="loss 3.2")
    return screen.getvalue()


def test_on_a_terminal_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), seconds=7)
    assert "encoding" in text
    assert "700 tokens" in text


def test_not_before_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), seconds=1) == ""


def test_a_line_a_minute_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), seconds=30) == ""
    line = shown(monkeypatch, io.StringIO(), seconds=70)
    assert line.startswith("encoding: 50%, 700 tokens, 10/s, loss 3.2")
    assert line.count("\n") == 1


@pytest.mark.parametrize("screen", [Terminal(), io.StringIO()])
def test_nothing_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO) -> None:
    assert shown(monkeypatch, screen, seconds=70, quiet=True) == ""


def test_only_the_first_of_several_processes_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert shown(monkeypatch, Terminal(), seconds=7) == ""


def on_a_terminal(tmp_path: Path, *more: str) -> bytes:
    """All that `polyseme embed` prints to a real terminal."""
    import pty

    (tmp_path / "text.txt").write_text("Here is your present .\n" * 2000)
    ours, theirs = pty.openpty()
    command = ("embed", "text.txt", "--model", str(toy_model()), "--out", "out.npz", *more)
    process = start(*command, cwd=tmp_path, on_terminal=theirs)
    os.close(theirs)
    printed = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not block:
            break
        printed += block
    assert process.wait() == 0
    os.close(ours)
    assert (tmp_path / "out.npz").exists()
    return printed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_quiet_job_prints_nothing_on_a_terminal(tmp_path: Path) -> None:
    assert on_a_terminal(tmp_path, "--quiet") == b""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_another_says_what_it_wrote(tmp_path: Path) -> None:
    assert b"2,000 records" in on_a_terminal(tmp_path)


def test_durations() -> None:
    assert [bars.shown_duration(seconds) for seconds in (3.21, 600, 9000)] == ["3.2 s", "10 min", "2.5 h"]
