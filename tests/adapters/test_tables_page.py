"""The programs of docs/tables.md are run, section by section, on a small table."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from helpers.command_line import polyseme
from helpers.paths import ROOT

BODIES = ["A fine film, I laughed.", "A dull film, I slept.", "It rained all day.", "What a wonderful movie!"]
PAGE = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")


def program(title: str) -> str:
    """The indented lines of a section."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(dedent(block) for block in re.findall(r"(?:^(?:    .*)?\n)+", section, flags=re.MULTILINE))


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    rows = (f'r{number},"{body}",{number}\n' for number, body in enumerate(BODIES, start=7))
    Path("reviews.csv").write_text("nr,body,stars\n" + "".join(rows))
    (command,) = re.findall(r"^polyseme (.*)$", PAGE, flags=re.MULTILINE)
    polyseme(*command.split(), "--quiet")
    return {}


def run_and_see_the_last(source: str, names: dict[str, Any]) -> Any:
    """The value of the expression that a program ends with."""
    begin, _, last = source.rstrip().rpartition("\n\n") if "\n\n" in source.rstrip() else ("", "", source)
    lines = f"{begin}\n\n{last}".rstrip().splitlines()
    start = max(n for n, line in enumerate(lines) if line and not line[0].isspace() and line[0] not in ")]}\"'")
    exec("\n".join(lines[:start]), names)
    return eval("\n".join(lines[start:]), names)


def test_duckdb(names: dict[str, Any]) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    first, _, second = program("DuckDB").partition("from polyseme import Elmo")
    near = run_and_see_the_last(first, names).fetchall()
    assert near[0][0] == "r8"  # the other film with "I"
    assert near[0][1] == "8" and near == sorted(near, key=lambda row: -row[2])
    found = run_and_see_the_last("from polyseme import Elmo" + second, names)
    assert len(found) == 4 and found[0][0] != "r9"  # not the rain


def test_polars(names: dict[str, Any]) -> None:
    pytest.importorskip("polars", reason="polars is not installed")
    exec("from polyseme import Elmo", names)
    found = run_and_see_the_last(program("Polars"), names)
    assert found["id"].to_list()[0] != "r9" and found["similarity"].is_sorted(descending=True)


def test_datasets(names: dict[str, Any]) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed")
    exec(program("Hugging Face datasets"), names)
    assert len(names["rows"]) == 4
    assert len(names["rows"][0]["vector"]) == names["elmo"].config.width
