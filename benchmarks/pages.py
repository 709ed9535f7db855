"""Write tables in the documentation from result files: the text between two marks is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def fill_in(page: str, name: str, text: str) -> None:
    """Put ``text`` between ``<!-- name: begin -->`` and ``<!-- name: end -->`` of a page in docs/."""
    path = DOCS / page
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path} has no marks {begin} … {end}")
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; numbers to the right."""
    numbers = [all(str(row[i]).lstrip("-")[:1].isdigit() for row in rows) for i in range(len(head))]
    lines = [head, ["---:" if right else "---" for right in numbers], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
