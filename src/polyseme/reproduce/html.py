"""A report as one HTML file that needs nothing else: pictures are embedded, there is no script and no network."""

from __future__ import annotations

import base64
import re
from html import escape

from polyseme.reproduce.document import PAPER, Block, Notes, Picture, ReportDocument, Section, Table
from polyseme.reproduce.measurement import slug

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
    """The paper's columns say so in a line of its own."""
    if cell.startswith(PAPER):
        return f"<small>paper</small>{escape(cell.removeprefix(PAPER))}"
    return escape(cell)
