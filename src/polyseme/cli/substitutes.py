"""polyseme substitutes: what else could stand in a word's place."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli.options import MarkedText, Model, OptionsFile, State
from polyseme.cli.printing import bar, new_table, on_terminal, print_json, print_table, print_tsv

if TYPE_CHECKING:
    from polyseme.lm.lexicon import Substitute


def substitutes(
    text: MarkedText,
    model: Model = "en",
    options_file: OptionsFile = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many words.", min=1)] = 10,
    direction: Annotated[
        Literal["both", "forward", "backward"],
        typer.Option(help="Judge by both sides of the word, by the words before it, or by the words after it."),
    ] = "both",
    exclude_original: Annotated[bool, typer.Option("--exclude-original", help="Leave out the original word.")] = False,
    lang: Annotated[str | None, typer.Option(help="How to split text; by default, as the model says.")] = None,
    state: State = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show which words could replace the one in brackets, likeliest first.

    With a model whose card says "unit: morpheme", the words are morphemes. In a pipe: tab-separated lines.

    Examples:

      polyseme substitutes "Here is your birthday [present]."

      polyseme substitutes "He sat on the [bank] of the river." --k 5 --direction backward
    """
    from polyseme.elmo import Elmo

    elmo = Elmo.from_pretrained(model, options=options_file, state=state, lang=lang)
    found = elmo.substitutes(text, k, direction=direction, exclude_original=exclude_original)
    if as_json:
        print_json([asdict(one) for one in found], indent=2)
    elif on_terminal():
        _print_table(found)
    else:
        rows = [(one.word, one.probability, one.forward, one.backward) for one in found]
        print_tsv(("word", "probability", "forward", "backward"), rows)


def _print_table(found: list[Substitute]) -> None:
    from rich.markup import escape

    table = new_table("word", "probability", "", "from the words before", "after", left=("word",), bars=("",))
    for one in found:
        backward = "" if one.backward is None else _percent(one.backward)
        largest = found[0].probability or 1.0
        table.add_row(
            escape(one.word), _percent(one.probability), bar(one.probability / largest), _percent(one.forward), backward
        )
    print_table(table)


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else f"{share:.1e}"
