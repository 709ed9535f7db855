"""The code of the README and of the pages is run, what it says of its values is checked, and its commands parse."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.command_line import parse, polyseme
from helpers.paths import ROOT
from models_page import MODELS, card_table
from polyseme import Elmo
from polyseme.demo.chosen_words import pair_of
from polyseme.prepared_text import read_target
from polyseme.pretrain.toy import TOY_TEXT
from readme import figures

PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))

#: "float32 [6, W]: one vector per token"; W is the width of the model at hand
ARRAY = re.compile(r"(float32|float64|int64) \[([\dW, ]+)\]")
#: "[a page](state.md#anchor)", with or without the anchor, on this page or another; not what is elsewhere in the web
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


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
    lines = [read_target(example.marked)[0] for word in ("present", "bank") for example in pair_of("en", word)]
    Path("demo-output/sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
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
        decorators = [one.lineno for one in getattr(statement, "decorator_list", [])]  # they stand above it
        source = "\n".join(lines[min([statement.lineno, *decorators]) - 1 : statement.end_lineno])
        comment = source.splitlines()[-1].partition("  # ")[2]
        if isinstance(statement, ast.Expr):
            value = eval(source.strip(), names)
            if found := ARRAY.match(comment):
                width = names["elmo"].config.width if "elmo" in names else Elmo.from_pretrained().config.width
                stated = [width if size == "W" else int(size) for size in found[2].split(", ")]
                assert (str(value.dtype), list(value.shape)) == (found[1], stated), source
            elif comment[:1] in tuple("[0123456789'") or comment in ("True", "False"):
                assert value == ast.literal_eval(comment), source
        else:
            exec(source, names)


@pytest.mark.parametrize(("page", "command"), [(page, command) for page in PAGES for command in commands(page)])
def test_every_command_parses(page: str, command: str) -> None:
    assert parse(command).command is not None


def test_the_readme_comes_to_a_vector_on_one_screen() -> None:
    """The install, eight lines of Python, one command for a file, the picture; then make demo and make test."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)[:4]
    assert [language for language, _ in first] == ["bash", "python", "bash", "bash"]
    assert first[0][1].startswith("pip install .")
    assert [len(block.splitlines()) for _, block in first[1:3]] == [8, 1]
    assert [line.split("#")[0].strip() for line in first[3][1].splitlines()] == ["make demo", "make test"]
    assert text[: text.index("](docs/senses.png)")].count("\n") < 35


def test_the_figures_of_the_readme_are_those_of_the_result_files() -> None:
    written = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- figures: begin -->\n")[2]
    assert written.partition("\n<!-- figures: end -->")[0] == figures(), "run: python benchmarks/readme.py"


def anchors(page: Path) -> set[str]:
    """What a link may name on a page: its headings in small letters, without punctuation, with - for spaces."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        there = path.parent / target if target else path
        assert there.exists(), f"{page} links to {target}"
        assert not anchor or anchor in anchors(there), f"{page} links to {target}#{anchor}"


def test_a_link_to_a_heading_that_is_not_there_would_be_seen() -> None:
    assert "the-command-line" in anchors(ROOT / "docs" / "index.md")
    assert "the-command-lines" not in anchors(ROOT / "docs" / "index.md")
    assert LINK.findall("[x](a.md#b) [y](#c) [z](https://e.f/g#h)") == [("a.md", "b"), ("", "c")]


def test_every_page_is_in_the_table_of_pages_and_begins_with_what_it_is_for() -> None:
    listed = {target for target, _ in LINK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))}
    for page in (ROOT / "docs").glob("*.md"):
        title, _, rest = page.read_text(encoding="utf-8").partition("\n")
        assert page.name in {*listed, "index.md"}, f"{page.name} is not in docs/index.md"
        assert re.match(r"# \w", title), f"{page.name} has no title"
        assert re.match(r"\n[\w`*]", rest) or page.name == "reproduction.md", f"{page.name} does not say what it is for"


def test_the_table_of_bundled_models_is_what_their_cards_say() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    written = page.partition("<!-- cards: begin -->\n")[2].partition("\n<!-- cards: end -->")[0]
    assert written == card_table(MODELS), "run: python benchmarks/models_page.py"


def test_arrays_stated_wrongly_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        check("x  # float32 [3, 6]: wrong", {"x": np.zeros((6, 3), dtype=np.float32)})
    with pytest.raises(AssertionError):
        check("x  # float32 [W]", {"x": np.zeros(3, dtype=np.float32)})
    with pytest.raises(AssertionError):
        check("x  # ['a']", {"x": ["b"]})
    with pytest.raises(AssertionError):
        check("x == 2  # True", {"x": 3})


def test_the_toy_text_is_what_it_says() -> None:
    """Two words, two senses each, 25 sentences a sense, every sentence once."""
    paragraphs = [paragraph.splitlines() for paragraph in TOY_TEXT.read_text(encoding="utf-8").split("\n\n")]
    assert [len(paragraph) for paragraph in paragraphs] == [25] * 4
    for word, paragraph in zip(("bank", "bank", "present", "present"), paragraphs, strict=True):
        assert all(re.findall(rf"\b{word}\b", line) == [word] for line in paragraph)
    assert len({line for paragraph in paragraphs for line in paragraph}) == 100
