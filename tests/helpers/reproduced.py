"""`polyseme reproduce` on a few lines of every set, with a small model: what it is given, and what it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import polyseme
from helpers.paper_data import TINY, write_paper_data
from helpers.small_lms import small_lm
from polyseme.elmo import Elmo
from polyseme.formats.native import save_native
from polyseme.reproduce.budgets import BUDGETS


def figures(out: Path) -> dict[str, Any]:
    """By part."""
    parts = json.loads((out / "reproduction.json").read_text(encoding="utf-8"))["parts"]
    return {name: part["figures"] for name, part in parts.items()}


class Reproduced:
    """A report, and what it is made of."""

    def __init__(self, folder: Path) -> None:
        self.data, self.model, self.out = write_paper_data(folder / "data"), folder / "model", folder / "report"
        self.static = str(self.data / "vectors.txt")
        save_native(small_lm(), self.model)
        self.elmo = Elmo.from_pretrained(self.model, device="cpu")

    def run(self, *options: str, code: int = 0, model: Path | None = None, out: Path | None = None) -> Any:
        """The command; the last option of a kind counts."""
        given = {"--data": self.data, "--model": model or self.model, "--out": out or self.out}
        words = [str(word) for pair in given.items() for word in pair]
        return polyseme("reproduce", *words, "--vectors", self.static, "--budget", "quick", *options, code=code)

    @property
    def parts(self) -> dict[str, Any]:
        return figures(self.out)

    @property
    def markdown(self) -> str:
        return (self.out / "report.md").read_text(encoding="utf-8")


@contextmanager
def quickly_reproduced(folder: Path) -> Iterator[Reproduced]:
    """Data and a model, with the budget "quick" as small as can be; nothing is measured yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "quick", TINY)
        patch.setenv("POLYSEME_CACHE", str(folder / "cache"))
        yield Reproduced(folder)
