"""A report as data (sections of paragraphs, tables, pictures and notes), and its rendering as Markdown and HTML.

Markdown has its pictures beside it. The HTML is one self-contained file: pictures are embedded, and there is no script
and no network.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from polyseme.reproduce.measurement import slug

#: Columns whose headings begin with this hold figures of the paper.
PAPER = "paper: "
STYLE = """
:root { --ink: #222; --faint: #5f5f5f; --line: #e2e2e2; --paper: #fff; --theirs: #f3f6fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 80rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1.2rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .8rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
p, ul { max-width: 48rem; margin: .7rem 0; } ul { padding-left: 1.2rem; } li { margin: .25rem 0; }
nav ul { columns: 2; max-width: none; list-style: none; padding: 0; } nav li { break-inside: avoid; margin: 0; }
a { color: #0060a0; } code { font-size: .92em; background: var(--theirs); padding: .05em .3em; border-radius: .2em;
       white-space: nowrap; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .55rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; } .number { text-align: right; white-space: nowrap; }
.theirs { background: var(--theirs); } th small { display: block; font-weight: 400; color: var(--faint); }
figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; display: block; }
@media (max-width: 40rem) { code { white-space: normal; } }
@media print { h2, figure, tr { break-inside: avoid; } }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are plain text; numbers are aligned right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds only numbers, empty cells and dashes."""
        cells = [row[column].lstrip("+-–") for row in self.rows]
        return any(cells) and all(cell[:1].isdigit() for cell in cells if cell)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG and its alternative text."""

    name: str
    text: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences, shown as a list."""

    lines: Sequence[str]


Block = str | Table | Picture | Notes


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks under it."""

    title: str
    blocks: Sequence[Block]


def section_of(title: str, lead: str, blocks: Sequence[Block], notes: Sequence[str | None]) -> Section:
    """A section: what a part is about, its tables and pictures, and below them its notes, if any."""
    lines = [line for line in notes if line]
    return Section(title, [lead, *blocks, *([Notes(lines)] if lines else [])])


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """In paragraphs and notes, `backticks` mark code; everything else is plain text."""

    title: str
    sections: Sequence[Section]

    @property
    def pictures(self) -> list[Picture]:
        return [block for section in self.sections for block in section.blocks if isinstance(block, Picture)]


def to_markdown(document: ReportDocument) -> str:
    texts = [f"# {document.title}"]
    for section in document.sections:
        texts += [f"## {section.title}", *(_markdown_block(block) for block in section.blocks)]
    return "\n\n".join(texts) + "\n"


def _markdown_block(block: Block) -> str:
    if isinstance(block, Table):
        return _markdown_table(block)
    if isinstance(block, Picture):
        return f"![{block.text}]({block.name}.svg)"
    if isinstance(block, Notes):
        return "\n".join(f"- {line}" for line in block.lines)
    return block


def _markdown_table(table: Table) -> str:
    marks = ["---:" if table.is_numeric(column) else "---" for column in range(len(table.head))]
    rows = [[_plain(cell) for cell in row] for row in (table.head, *table.rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], marks, *rows[1:]])


def _plain(cell: str) -> str:
    """Escape a cell, so that text of a corpus does not become markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", cell.replace("\n", " "))


def to_html(document: ReportDocument) -> str:
    links = "".join(f'<li><a href="#{slug(s.title)}">{escape(s.title)}</a></li>' for s in document.sections)
    body = "\n".join(_section(section) for section in document.sections)
    title = escape(document.title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body>\n<h1>{title}</h1>\n<nav><ul>{links}</ul></nav>\n{body}\n</body></html>\n"
    )


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f'<section>\n<h2 id="{slug(section.title)}">{escape(section.title)}</h2>\n{blocks}\n</section>'


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Picture):
        data = base64.b64encode(block.svg).decode()
        return f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(block.text)}"></figure>'
    if isinstance(block, Notes):
        return f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in block.lines)}</ul>"
    return f"<p>{_text(block)}</p>"


def _text(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _table(table: Table) -> str:
    kinds = [
        " ".join(
            [*(["number"] if table.is_numeric(n) else []), *(["theirs"] if table.head[n].startswith(PAPER) else [])]
        )
        for n in range(len(table.head))
    ]
    head = "".join(
        f'<th scope="col"{_class(kind)}>{_head(cell)}</th>' for kind, cell in zip(kinds, table.head, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{_class(kind)}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _head(cell: str) -> str:
    """A heading; for the paper's columns, with "paper" on its own line."""
    if cell.startswith(PAPER):
        return f"<small>paper</small>{escape(cell.removeprefix(PAPER))}"
    return escape(cell)
