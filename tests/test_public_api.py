"""docs/public-api.md lists what is public: all of it can be imported, and the pages import nothing else."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from helpers.paths import ROOT

PAGE = (ROOT / "docs" / "public-api.md").read_text(encoding="utf-8")
LISTED = {
    module: set(re.findall(r"`(\w+)`", names))
    for module, names in re.findall(r"^\| `(polyseme[.\w]*)` \| (.*) \|$", PAGE, flags=re.MULTILINE)
}
#: Beside the page's own modules: what other programs' users write, each with a page of its own.
COMPATIBLE = ("polyseme.compat", "polyseme.sklearn", "polyseme.spacy", "polyseme.mteb", "polyseme.languagechange")


def snippets() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [
        (page.name, block)
        for page in pages
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    ]
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found += [(path.name, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    return found


def test_the_page_has_its_table() -> None:
    assert "polyseme" in LISTED
    assert len(LISTED) > 5


@pytest.mark.parametrize("module", LISTED)
def test_every_listed_name_is_there(module: str) -> None:
    imported = import_module(module)
    missing = [name for name in LISTED[module] if not hasattr(imported, name)]
    assert missing == []


@pytest.mark.parametrize("module", LISTED)
def test_no_public_name_is_a_file_of_its_package_too(module: str) -> None:
    """Once such a file is imported, Python hands out the file in place of what it holds."""
    folders = getattr(import_module(module), "__path__", [])
    files = {path.stem for folder in folders for path in Path(folder).iterdir()}
    assert LISTED[module] & files == set()


@pytest.mark.parametrize("module", LISTED)
def test_every_name_that_a_module_hands_out_is_listed(module: str) -> None:
    assert set(getattr(import_module(module), "__all__", LISTED[module])) == LISTED[module]


def test_the_pages_import_nothing_deeper() -> None:
    deeper = []
    for page, code in snippets():
        code = re.sub(r"^[%!].*$", "pass", code, flags=re.MULTILINE)
        for node in ast.walk(ast.parse(code)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                ours = module == "polyseme" or module.startswith("polyseme.")
                if ours and module not in LISTED and not module.startswith(COMPATIBLE):
                    deeper.append(f"{page}: {module}")
    assert deeper == []
