"""polyseme shift: how the meaning of words changed from one text to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.bars import resumable
from polyseme.cli.options import Overwrite, Quiet, ReadingOptions, keep_existing, with_groups
from polyseme.cli.printing import new_table, on_terminal, print_json, print_table, print_tsv, word_in_text

if TYPE_CHECKING:
    from rich.text import Text

    from polyseme.senses.shifted_word import WordShift
    from polyseme.senses.text_shift import Shift

#: How many words a terminal shows with their senses, and the least change of a share that is shown.
TOLD, WORTH = 3, 0.1


@with_groups
def shift(
    before: Annotated[str, typer.Argument(help="A text, or the folder of an index.", metavar="BEFORE")],
    after: Annotated[str, typer.Argument(help="The text or index to compare it with.", metavar="AFTER")],
    words: Annotated[
        str | None,
        typer.Option(help="The words, separated by commas, or a file with one per line.", metavar="WORD,…|FILE"),
    ] = None,
    most_words: Annotated[
        int, typer.Option(help="Without --words: how many words that are frequent in both texts to compare.", min=1)
    ] = 200,
    uses: Annotated[int, typer.Option(help="At most this many uses of a word are compared in each text.", min=5)] = 100,
    *,
    reading: ReadingOptions,
    out: Annotated[
        Path | None, typer.Option(help="Keep the results, and what --resume needs, in this folder.", metavar="DIR")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the most changed words.", metavar="FILE.png")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue what was begun in --out.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print what it would take, and stop.")] = False,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare what words mean in two texts: which changed most, and which senses appeared or disappeared.

    Words are ranked by the average distance between their uses in the two texts, minus the distance expected by chance.
    p comes from shuffling documents between the texts; q is p corrected for the number of words. A word counts as
    changed if its q is below 0.05. In a pipe, the output is one tab-separated line per word.

    Examples:

      polyseme shift novels.txt news.txt --words bank,present

      polyseme shift 1900.txt 2000.txt --words words.txt --out changes --picture changes.png
    """
    if picture is not None and picture.suffix.lower() != ".png":
        raise typer.BadParameter(f"{picture} should end in .png", param_hint="--picture")
    if resume and out is None:
        raise typer.BadParameter("there is nothing to resume: name the folder with --out", param_hint="--resume")
    keep_existing(picture, overwrite=overwrite)
    from polyseme.errors import InputError
    from polyseme.senses.shift_estimate import estimate_shift
    from polyseme.senses.shift_picture import save_shift_picture
    from polyseme.senses.text_shift import compare_texts

    elmo = reading.load()
    asked = _words(words)
    limits: dict[str, Any] = {"most_words": most_words, "most_uses": uses, "kind": reading.kind, "field": reading.field}
    if estimate:
        typer.echo(estimate_shift(elmo, before, after, asked, **limits))
        return
    with resumable(quiet or out is None):
        found = compare_texts(elmo, before, after, asked, folder=out, resume=resume, overwrite=overwrite, **limits)
    if picture is not None and found.words:
        save_shift_picture(found, picture)
    if not quiet:
        for reason in found.left_out.values():
            typer.echo(f"left out: {reason}", err=True)
    if as_json:
        print_json(found.told(), indent=2)
    elif not found.words:
        raise InputError("no word could be compared: none has enough uses in both texts")
    elif on_terminal():
        _print(found)
    else:
        header = ("word", "before", "after", "APD", "low", "high", "excess", "prototypes", "JSD", "p", "q")
        print_tsv(header, (_row(word, found.q[word.word]) for word in found.words))


def _words(given: str | None) -> list[str]:
    if given is None:
        return []
    if not Path(given).is_file() and ("," not in given) and Path(given).suffix in (".txt", ".tsv", ".csv"):
        raise typer.BadParameter(f"there is no file {given}", param_hint="--words")
    if Path(given).is_file():
        found = Path(given).read_text(encoding="utf-8-sig").split()
    else:
        found = [word.strip() for word in given.split(",") if word.strip()]
    if not found:
        raise typer.BadParameter(f"there is no word in {given!r}", param_hint="--words")
    return found


def _row(word: WordShift, q: float) -> tuple[object, ...]:
    one = word.measures["APD"]
    others = (word.measures["prototypes"].value, word.measures["JSD"].value)
    return (word.word, *word.totals, one.value, one.low, one.high, one.excess, *others, one.p, q)


def _print(found: Shift) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.text import Text

    table = new_table("word", "before", "after", "distance", "by chance", "95 % interval", "p", "q", left=("word",))
    for word in found.words:
        one, q = word.measures["APD"], found.q[word.word]
        name = f"[bold]{escape(word.word)}[/bold]" if q < 0.05 else escape(word.word)
        interval = f"{one.low:.2f} to {one.high:.2f}"
        figures = (f"{one.value:.3f}", f"{one.chance:.3f}", interval, f"{one.p:.3f}", f"{q:.3f}")
        table.add_row(name, f"{word.totals[0]:,}", f"{word.totals[1]:,}", *figures)
    print_table(table)
    console = Console(highlight=False)
    for word in [word for word in found.words if found.q[word.word] < 0.05][:TOLD]:
        console.print(Text.assemble("\n", (word.word, "bold")))
        for sense in word.senses:
            if abs(sense.change) < WORTH:
                continue
            came = sense.change > 0
            title = " · ".join(sense.names) or "a group of uses"
            share = f"  {sense.before:.0%} → {sense.after:.0%}  "
            beside = f"  beside {', '.join(sense.around)}" if sense.around else ""
            console.print(Text.assemble((share, "dim"), (title, "green" if came else "red"), (beside, "dim")))
            for sentence in (sense.sentences_after if came else sense.sentences_before)[:2]:
                console.print(Text("      ").append(_marked(sentence)), soft_wrap=True)


def _marked(sentence: str) -> Text:
    from polyseme.prepared_text import split_at_target

    before, word, after = split_at_target(sentence)
    return word_in_text(before + word + after, (len(before), len(before) + len(word)))
