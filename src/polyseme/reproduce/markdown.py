"""A report as Markdown; its pictures lie beside it."""

from __future__ import annotations

import re

from polyseme.reproduce.document import Block, Notes, Picture, ReportDocument, Table


def to_markdown(document: ReportDocument) -> str:
    texts = [f"# {document.title}"]
    for section in document.sections:
        texts += [f"## {section.title}", *(_block(block) for block in section.blocks)]
    return "\n\n".join(texts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Picture):
        return f"![{block.text}]({block.name}.svg)"
    if isinstance(block, Notes):
        return "\n".join(f"- {line}" for line in block.lines)
    return block


def _table(table: Table) -> str:
    marks = ["---:" if table.is_numeric(column) else "---" for column in range(len(table.head))]
    rows = [[_plain(cell) for cell in row] for row in (table.head, *table.rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], marks, *rows[1:]])


def _plain(cell: str) -> str:
    """Text of a corpus must not become markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", cell.replace("\n", " "))
