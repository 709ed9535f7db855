"""The code of the README and of the pages is run, what it says of its values is checked, and its commands parse."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import parse, polyseme

from polyseme.pretrain.toy import TEXT

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/formats.md",
    "docs/state.md",
    "docs/embedding.md",
    "docs/training.md",
    "docs/tasks.md",
    "docs/analysis.md",
    "docs/reproduction.md",
    "docs/demo.md",
    "docs/serve.md",
)

#: "float32 [6, 64]: one vector a token"
ARRAY = re.compile(r"(float32|int64) \[([\d, ]+)\]")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    lines = [line for block in blocks(page, "bash") for line in block.replace("\\\n", " ").splitlines()]
    inline = re.findall(r"`(polyseme (?:[a-z]+ )[^`]*[^`.])`", (ROOT / page).read_text(encoding="utf-8"))
    return [line.partition(" #")[0].strip() for line in [*lines, *inline] if line.startswith("polyseme ")]


@pytest.fixture
def after_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that `polyseme demo` leaves."""
    monkeypatch.chdir(tmp_path)
    Path("demo-output").mkdir()
    Path("demo-output/sentences.txt").write_text("Here is your birthday present.\n", encoding="utf-8")
    polyseme("embed", "demo-output/sentences.txt", "--out", "demo-output/vectors.h5")


@pytest.mark.usefixtures("after_the_demo")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_says_the_truth(page: str) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        check(block, names)


def check(block: str, names: dict[str, Any]) -> None:
    """Run a block line by line; where a comment states a value or a shape, the line has it."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        comment = source.splitlines()[-1].partition("  # ")[2]
        if isinstance(statement, ast.Expr):
            value = eval(source.strip(), names)
            if found := ARRAY.match(comment):
                assert (str(value.dtype), list(value.shape)) == (found[1], ast.literal_eval(f"[{found[2]}]")), source
            elif comment[:1] in tuple("[0123456789'"):
                assert value == ast.literal_eval(comment), source
        else:
            exec(source, names)


@pytest.mark.parametrize(("page", "command"), [(page, command) for page in PAGES for command in commands(page)])
def test_every_command_parses(page: str, command: str) -> None:
    assert parse(command).command is not None


def test_the_readme_begins_with_the_two_commands_and_eight_lines() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)[:2]
    assert [language for language, _ in first] == ["bash", "python"]
    assert [line.split("#")[0].strip() for line in first[0][1].splitlines()] == ["make demo", "make test"]
    assert len([line for line in first[1][1].splitlines() if line]) == 8


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_arrays_stated_wrongly_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        check("x  # float32 [3, 6]: wrong", {"x": np.zeros((6, 3), dtype=np.float32)})
    with pytest.raises(AssertionError):
        check("x  # ['a']", {"x": ["b"]})


def test_the_toy_text_is_what_it_says() -> None:
    """Two words, two senses each, 25 sentences a sense, every sentence once."""
    paragraphs = [paragraph.splitlines() for paragraph in TEXT.read_text(encoding="utf-8").split("\n\n")]
    assert [len(paragraph) for paragraph in paragraphs] == [25] * 4
    for word, paragraph in zip(("bank", "bank", "present", "present"), paragraphs, strict=True):
        assert all(re.findall(rf"\b{word}\b", line) == [word] for line in paragraph)
    assert len({line for paragraph in paragraphs for line in paragraph}) == 100
