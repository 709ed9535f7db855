"""polyseme senses: what a word means in a text, as groups of similar uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.bars import shown_progress
from polyseme.cli.options import Overwrite, Quiet, ReadingOptions, keep_existing, with_groups
from polyseme.cli.printing import on_terminal, print_tsv

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.senses.sense_map import SenseMap

#: Sentences shown for each group, and characters shown on either side of the word.
SHOWN, AROUND = 3, 50


@with_groups
def senses(
    word: Annotated[str, typer.Argument(help="The word, as the text spells it; any case.", metavar="WORD")],
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            help="A text (as polyseme index takes it, also several) or the folder of an index; unless given, the small "
            "text that comes with polyseme.",
            metavar="TEXT|INDEX",
        ),
    ] = None,
    *,
    reading: ReadingOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page.", metavar="FILE")] = None,
    out: Annotated[Path | None, typer.Option(help="Write a picture.", metavar="FILE.png")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Group the uses of a word in a text, with words that could replace it and clear examples.

    The text decides how many groups there are; a word that is used in one way has one. At most 300
    occurrences are used. In a pipe, the output is one tab-separated line per occurrence.

    Examples:

      polyseme senses bank

      polyseme senses bank --in corpus.txt --html bank.html --out bank.png
    """
    if out is not None and out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out} should end in .png", param_hint="--out")
    keep_existing(html, out, overwrite=overwrite)
    from polyseme.senses.sense_page import save_sense_page
    from polyseme.senses.sense_picture import save_sense_picture

    elmo = reading.load()
    with shown_progress(quiet):
        found = _find(elmo, word, texts or [], reading.kind, reading.field)
    if html is not None:
        save_sense_page(found, html, lang=elmo.lang)
    if out is not None:
        save_sense_picture(found, out)
    if as_json:
        typer.echo(json.dumps(_told(found), ensure_ascii=False, indent=2))
    elif on_terminal():
        _print(found)
    else:
        rows = (
            (number, group.share, " ".join(group.names), one.marked.replace("\t", " "), one.source, one.document)
            for number, group in enumerate(found.groups, start=1)
            for one in group.occurrences
        )
        print_tsv(("group", "share", "names", "sentence", "source", "document"), rows)


def _find(elmo: Elmo, word: str, texts: list[str], kind: str | None, field: str | None) -> SenseMap:
    from polyseme.index.files import DESCRIPTION
    from polyseme.index.vector_index import Index
    from polyseme.senses.sense_map import SenseMap, map_in_files
    from polyseme.senses.shipped import needed_text

    if len(texts) == 1 and (Path(texts[0]) / DESCRIPTION).exists():
        return SenseMap.of(elmo, word, Index.open(texts[0], elmo))
    if not texts:
        texts = [str(needed_text(elmo.lang))]
    return map_in_files(elmo, word, texts, kind=kind, field=field)


def _told(found: SenseMap) -> dict[str, object]:
    groups = [
        {
            "names": group.names,
            "around": group.around,
            "share": group.share,
            "occurrences": [
                {
                    "marked": one.marked,
                    "text": one.text,
                    "span": one.span,
                    "source": one.source,
                    "document": one.document,
                }
                for one in group.occurrences
            ],
        }
        for group in found.groups
    ]
    return {"word": found.word, "total": found.total, "shown": len(found.occurrences), "groups": groups}


def _print(found: SenseMap) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    counted = f"{found.total:,} occurrence{'s' if found.total != 1 else ''}"
    seen = "" if found.total == len(found.occurrences) else f", {len(found.occurrences)} of them looked at"
    kinds = "one way" if len(found.groups) == 1 else f"{len(found.groups)} ways"
    console.print(Text.assemble((found.word, "bold"), f": {counted}{seen}, used in {kinds}"))
    for number, group in enumerate(found.groups, start=1):
        title = " · ".join(group.names) or f"group {number}"
        beside = f"  beside {', '.join(group.around)}" if group.around else ""
        console.print(Text.assemble("\n", (f"{group.share:>4.0%}  ", "dim"), (title, "bold cyan"), (beside, "dim")))
        shown = {one.marked: one for one in group.occurrences}
        for one in list(shown.values())[:SHOWN]:
            before, after = one.text[: one.span[0]], one.text[one.span[1] :]
            before = "…" + before[-AROUND:] if len(before) > AROUND else before
            after = after[:AROUND] + "…" if len(after) > AROUND else after
            console.print(Text.assemble("      ", before, (one.text[slice(*one.span)], "cyan"), after), soft_wrap=True)
