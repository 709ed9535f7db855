"""polyseme demo: everything once, on a few sentences; each line of Python that it shows is the line that it runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.options import OptionsFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text

    from polyseme.demo.study import Study
    from polyseme.elmo import Elmo

WIDTH = 80
LANGUAGES = ("en", "ko", "zh")
TITLE = "One word, as many vectors as it has contexts"
LIKELY = 0.005  #: the least probability of a substitute that is shown


def demo(
    lang: Annotated[str, typer.Option(help="The language of the sentences: en, ko or zh.")] = "en",
    model: Annotated[
        str | None, typer.Option(help="Another model than the bundled one of the language: a folder, a file, a hub id.")
    ] = None,
    options_file: OptionsFile = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for what the demo writes; demo-output unless given.", metavar="DIR")
    ] = None,
) -> None:
    """Show what polyseme does: vectors, the senses of a word, neighbours, substitutes, files.

    Examples:

      polyseme demo

      polyseme demo --model ./my-model --out first-look
    """
    if lang not in LANGUAGES:
        raise typer.BadParameter(f"{lang!r} is none of {', '.join(LANGUAGES)}", param_hint="--lang")
    from rich.console import Console

    console = Console()
    console.width = min(console.width, WIDTH)
    folder = out or Path("demo-output", *([] if lang == "en" else [lang]))
    folder.mkdir(parents=True, exist_ok=True)
    elmo = _show_vectors(console, model, options_file, lang)
    studies = _show_senses(console, elmo, lang)
    _title(console, "Files")
    vectors = _write_vectors(console, elmo, _on_command_line(model, options_file, lang), folder, studies)
    files = [*vectors, *_draw(console, studies, folder, lang)]
    for path in files:
        console.print(f"  {path.as_posix():<50} {path.stat().st_size:>10,} bytes", highlight=False)
    _name_other_languages(console, lang)


def _on_command_line(model: str | None, options: str | None, lang: str) -> str:
    """The model as it stands behind --model."""
    if model is None:
        return lang
    return f"{model}{f' --options {options}' if options else ''} --lang {lang}"


def _name_other_languages(console: Console, lang: str) -> None:
    """Those whose models are in the box too."""
    from polyseme.formats.bundled import bundled_models

    if others := [f"[cyan]polyseme demo --lang {other}[/cyan]" for other in bundled_models() if other != lang]:
        console.print(f"\nThe same in other languages: {', '.join(others)}")


def _show_vectors(console: Console, model: str | None, options: str | None, lang: str) -> Elmo:
    """Load the model, the bundled one unless given, and encode a sentence."""
    from polyseme.demo.study import WORDS
    from polyseme.lm.places import find_place
    from polyseme.target import read_target

    _title(console, "Text becomes vectors")
    names: dict[str, Any] = {}
    _, example = next(iter(WORDS[lang].values()))
    text, _ = read_target(example.marked)
    apart = f", options={options!r}" if options else ""
    chosen = f"{model!r}{apart}, lang={lang!r}" if model else repr(lang)  # a bundled model knows how to split text
    _run(console, names, "from polyseme import Elmo", f"elmo = Elmo.from_pretrained({chosen})")
    _run(console, names, f"encoding = elmo.encode({text!r})", "encoding.tokens")
    _run(console, names, "encoding.vectors.shape        # tokens × numbers: the mean of the layers")
    _run(console, names, "encoding.layers.shape         # layers × tokens × numbers")
    elmo: Elmo = names["elmo"]
    place = find_place(elmo, example.marked)
    word = place.tokens[place.begin]  # in the model's units: a Korean noun may have its particle
    _run(console, names, f"encoding[{word!r}].shape{' ' * (12 - _cells(word))}# this word, here")
    return elmo


def _show_senses(console: Console, elmo: Elmo, lang: str) -> list[Study]:
    """Everything about the words of the demo; their neighbours are looked for in the text of the package."""
    from polyseme.demo.study import WORDS, index_text, study, text_lines

    _title(console, "One word, two senses")
    first, second = next(iter(WORDS[lang].values()))
    _run(console, {"elmo": elmo}, f"elmo.similarity({first.marked!r},\n                {second.marked!r})")
    lines = text_lines(lang)
    index = index_text(elmo, lines, f"text-{lang}.txt")
    studies = [study(index, lang, word) for word in WORDS[lang]]
    _show_similarities(console, studies)
    _title(console, "Where is the word used like this?")
    console.print(
        f"[dim]Of {len(lines):,} sentences, those whose word is nearest by sense; each under the sentence that it is "
        "more like.[/dim]",
        highlight=False,
    )
    _show_nearest(console, studies)
    _title(console, "What else could stand there?")
    _show_substitutes(console, studies)
    _title(console, "And other words?")
    _show_proof(console, elmo, lang)
    return studies


def _show_similarities(console: Console, studies: list[Study]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("the same word in two sentences")
    for layer in range(len(studies[0].cosines)):
        table.add_column(f"layer {layer}", justify="right")
    table.add_column("sense", justify="right")
    for study in studies:
        first, second = study.answers
        table.add_row(_highlighted(first.example.marked), *_figures(study.cosines))
        table.add_row(_highlighted(second.example.marked))
        table.add_row(f"[dim]pairs of the same sense, in {len(study.examples)} sentences", *_figures(_alike(study)))
        table.add_row("[dim]pairs of two senses", *_figures(_unlike(study)))
        table.add_row()
    console.print()
    console.print(table, highlight=False)
    console.print(
        "[dim]Cosine of the two vectors; layer 0 sees the word alone, as a static vector does: there they are equal. "
        "Sense: by what stands around the word, not by the word itself.[/dim]"
    )


def _alike(study: Study) -> list[float]:
    return [*study.alike.tolist(), study.by_sense.same]


def _unlike(study: Study) -> list[float]:
    return [*study.unlike.tolist(), study.by_sense.cross]


def _show_proof(console: Console, elmo: Elmo, lang: str) -> None:
    """Not two words that were picked, but all that are labelled."""
    from polyseme.demo.study import prove

    found = prove(elmo, lang)
    console.print(
        f"[dim]{found.words} ambiguous words, two senses of four sentences each: how often a use is nearer to one in "
        "the same sense than to one in the other (95 % interval over words).[/dim]",
        highlight=False,
    )
    names = ["a static vector, and layer 0", *(f"the word's vector, layer {n}" for n in range(1, len(found.layers)))]
    for name, one in zip([*names, "sense: what stands around the word"], [*found.layers, found.sense], strict=True):
        console.print(f"  {name:<38} {one.mean:.2f}  [dim]{one.low:.2f} to {one.high:.2f}[/dim]", highlight=False)


def _show_nearest(console: Console, studies: list[Study]) -> None:
    from rich.table import Table
    from rich.text import Text

    for answer in (answer for study in studies for answer in study.answers):
        console.print()
        console.print(_highlighted(answer.example.marked) + Text(f"  ({answer.example.sense})", style="dim"))
        table = Table.grid(padding=(0, 0, 0, 2))
        for one in answer.neighbours:
            table.add_row(f"[dim]{one.similarity:.2f}[/dim]", _highlighted(one.marked))
        if not answer.neighbours:
            table.add_row("[dim]   –[/dim]", "[dim]no other use in the text is near[/dim]")
        if answer.others:
            table.add_row("", Text(f"other words near it: {', '.join(answer.others)}", style="dim"))
        console.print(table, highlight=False)


def _show_substitutes(console: Console, studies: list[Study]) -> None:
    from rich.text import Text

    if not any(answer.substitutes for study in studies for answer in study.answers):
        console.print("[dim]This model gives vectors, but no probabilities of words: it has no softmax.[/dim]")
        return
    console.print("[dim]What the forward and the backward model together would put in its place:[/dim]")
    for answer in (answer for study in studies for answer in study.answers):
        words = Text("  ")
        for one in (one for one in answer.substitutes if one.probability >= LIKELY):
            words.append(f"{one.word} ").append(f"{one.probability:.0%}  ", style="dim")
        console.print()
        console.print(_highlighted(answer.example.marked))
        console.print(words)


def _write_vectors(console: Console, elmo: Elmo, chosen: str, folder: Path, studies: list[Study]) -> list[Path]:
    """The sentences of the demo and their vectors as files; ``chosen`` is the model as the command line names it."""
    from polyseme.embed.job import embed_files
    from polyseme.target import read_target

    sentences, vectors = folder / "sentences.txt", folder / "vectors.h5"
    lines = [read_target(answer.example.marked)[0] for study in studies for answer in study.answers]
    sentences.write_text("\n".join(lines) + "\n", encoding="utf-8")
    vectors.unlink(missing_ok=True)
    _command(console, f"polyseme embed {sentences.as_posix()} --model {chosen} --out {vectors.as_posix()}")
    embed_files([sentences], vectors, elmo, overwrite=True)
    _run(console, {}, "from polyseme.embed import read", f"next(read({vectors.as_posix()!r})).vectors.shape")
    return [sentences, vectors]


def _draw(console: Console, studies: list[Study], folder: Path, lang: str) -> list[Path]:
    """The findings as a page, and as a picture where matplotlib is installed."""
    from polyseme.demo.page import save_page
    from polyseme.demo.picture import save_picture
    from polyseme.errors import MissingExtra

    page, picture = folder / "senses.html", folder / "senses.png"
    save_page(studies, page, title=TITLE, lang=lang)
    try:
        save_picture(studies, picture, title=TITLE)
    except MissingExtra as missing:
        console.print(f"There is no senses.png: {missing}", style="dim", markup=False, highlight=False)
        return [page]
    return [picture, page]


def _title(console: Console, text: str) -> None:
    from rich.rule import Rule

    console.print()
    console.print(Rule(f"[bold]{text}[/bold]", align="left", style="dim"))


def _command(console: Console, command: str) -> None:
    """A command line, broken so that it can be copied."""
    lines = ["$"]
    for piece in re.findall(r"--\S+ \S+|\S+", command):  # an option stays with its value
        if len(lines[-1]) + len(piece) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {piece}"
    console.print("\n".join(lines), style="cyan", highlight=False, soft_wrap=True)


def _run(console: Console, names: dict[str, Any], *statements: str) -> None:
    """Show lines of Python and run them as the interactive interpreter does, which prints what has a value."""
    from rich.syntax import Syntax

    for statement in statements:
        prompt = ">>> " + statement.replace("\n", "\n... ")
        console.print(Syntax(prompt, "pycon", background_color="default"))
        exec(compile(statement, "<demo>", "single"), names)


def _highlighted(marked: str) -> Text:
    """A sentence whose marked word is in colour instead of in brackets."""
    from rich.text import Text

    from polyseme.target import split_at_target

    before, word, after = split_at_target(marked)
    return Text.assemble(before, (word, "bold cyan"), after)


def _figures(cosines: Iterable[float]) -> list[str]:
    return [f"{cosine:.2f}" for cosine in cosines]


def _cells(text: str) -> int:
    """How wide a text is on a terminal."""
    from rich.cells import cell_len

    return cell_len(text)
