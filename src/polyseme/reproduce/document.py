"""A report as data: sections of paragraphs, tables, pictures and notes; `markdown.py` and `html.py` write it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Columns whose heads begin so hold figures of the paper.
PAPER = "paper: "


@dataclass(frozen=True, slots=True)
class Table:
    """Plain text in cells; numbers stand to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers, and nothing or a dash for none."""
        cells = [row[column].lstrip("+-–") for row in self.rows]
        return any(cells) and all(cell[:1].isdigit() for cell in cells if cell)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG, and what it shows, for those who do not see it."""

    name: str
    text: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences, one under the other."""

    lines: Sequence[str]


Block = str | Table | Picture | Notes


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


def section_of(title: str, lead: str, blocks: Sequence[Block], notes: Sequence[str | None]) -> Section:
    """What a part is about, its tables and pictures, and below them the notes that there are."""
    lines = [line for line in notes if line]
    return Section(title, [lead, *blocks, *([Notes(lines)] if lines else [])])


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """In paragraphs and notes `backticks` are code; everything else is plain text."""

    title: str
    sections: Sequence[Section]

    @property
    def pictures(self) -> list[Picture]:
        return [block for section in self.sections for block in section.blocks if isinstance(block, Picture)]
