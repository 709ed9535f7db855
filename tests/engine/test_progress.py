"""A bar appears only on a terminal, and only when work takes longer than a moment."""

from __future__ import annotations

import io
import sys

import pytest

from polyseme.engine import progress
from polyseme.engine.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with Progress(10, "encoding") as bar:
        for _ in range(5):
            bar.advance(2)
    assert bar.done == 10
    return screen.getvalue()


def test_on_a_terminal_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "encoding" in shown(monkeypatch, Terminal(), patience=-1)


def test_not_before_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), patience=60) == ""


def test_not_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), patience=-1) == ""
