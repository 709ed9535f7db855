"""polyseme senses: what a word means in a text, as groups of similar uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.bars import shown_progress
from polyseme.cli.options import Overwrite, Quiet, ReadingOptions, keep_existing, with_groups
from polyseme.cli.printing import on_terminal, print_json, print_tsv, word_in_text

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.senses.sense_map import SenseMap

SHOWN = 3  #: sentences of a group


@with_groups
def senses(
    word: Annotated[str, typer.Argument(help="One word, as it stands in the text.", metavar="WORD")],
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            help="A text or the folder of an index. Repeat it for several texts. By default, the small text that comes "
            "with polyseme.",
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

    The text decides how many groups there are; a word that is used in one way has one. At most 300 occurrences are
    grouped, and only those with the same capitals as WORD if there are eight or more. In a pipe, the output is one
    tab-separated line per occurrence.

    Examples:

      polyseme senses bank

      polyseme senses bank --in corpus.txt --html bank.html --out bank.png
    """
    if out is not None and out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out} should end in .png", param_hint="--out")
    if not word.strip():
        raise typer.BadParameter("expected a word", param_hint="WORD")
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
        print_json(_told(found), indent=2)
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
    from polyseme.prepared_text import script_of
    from polyseme.senses.sense_map import SenseMap, map_in_files
    from polyseme.senses.shipped import needed_text
    from polyseme.text.tokenization import language_code

    if len(texts) == 1 and (Path(texts[0]) / DESCRIPTION).exists():
        return SenseMap.of(elmo, word, Index.open(texts[0], elmo))
    if texts:
        return map_in_files(elmo, word, texts, kind=kind, field=field)
    called = "the small text that comes with polyseme; name a text of your own with --in"
    scripts = {"HANGUL": "ko", "HAN": "zh"}
    other = next((lang for letter in word if (lang := scripts.get(script_of(letter) or ""))), None)
    if other is not None and other != language_code(elmo.lang):
        called += f", or try --model {other}"
    return map_in_files(elmo, word, [needed_text(elmo.lang)], called=called)


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
    seen = "" if found.total == len(found.occurrences) else f", {len(found.occurrences)} of them grouped"
    kinds = "one way" if len(found.groups) == 1 else f"{len(found.groups)} ways"
    console.print(Text.assemble((found.word, "bold"), f": {counted}{seen}, used in {kinds}"))
    for number, group in enumerate(found.groups, start=1):
        title = " · ".join(group.names) or f"group {number}"
        beside = f"  beside {', '.join(group.around)}" if group.around else ""
        console.print()
        named = Text.assemble((title, "bold cyan"), (beside, "dim"))
        for line, part in enumerate(named.wrap(console, max(20, console.width - 6))):
            part.rstrip()
            console.print(Text.assemble((f"{group.share:>4.0%}  " if line == 0 else " " * 6, "dim"), part))
        shown = {one.marked: one for one in group.occurrences}
        for one in list(shown.values())[:SHOWN]:
            console.print(Text("      ").append(word_in_text(one.text, one.span)), soft_wrap=True)
