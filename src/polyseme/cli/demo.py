"""polyseme demo: everything once, on a few sentences; every line of Python that it shows is run as shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.options import OptionsFile

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from polyseme.demo.study import Proof, Study
    from polyseme.elmo import Elmo

WIDTH = 80
LANGUAGES = ("en", "ko", "zh")
TITLE = "One word, as many vectors as it has contexts"
LIKELY, LISTED = 0.005, 6  #: only substitutes at least this probable are shown, and at most this many
#: The text that is encoded first; in other languages, the shortest labelled sentence.
SEED = "Here is your b-day [present]."


def demo(
    lang: Annotated[str, typer.Option(help="The language of the sentences: en, ko or zh.")] = "en",
    model: Annotated[
        str | None, typer.Option(help="A model to use instead of the bundled one: a folder, a file, a hub id.")
    ] = None,
    options_file: OptionsFile = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; demo-output by default.", metavar="DIR")
    ] = None,
) -> None:
    """Show what polyseme does: vectors, word senses, how well it works, what to try next.

    Examples:

      polyseme demo

      polyseme demo --model ./my-model --out first-look
    """
    if lang not in LANGUAGES:
        raise typer.BadParameter(f"{lang!r} is not one of {', '.join(LANGUAGES)}", param_hint="--lang")
    from rich.console import Console

    from polyseme.demo.chosen_words import choose_demo_words
    from polyseme.demo.study import index_text, prove, study, text_lines

    console = Console()
    console.width = min(console.width, WIDTH)
    folder = out or Path("demo-output", *([] if lang == "en" else [lang]))
    folder.mkdir(parents=True, exist_ok=True)
    elmo = _load(console, model, options_file, lang)
    proof = prove(elmo, lang)
    index = index_text(elmo, text_lines(lang), f"text-{lang}.txt")
    studies = [study(index, lang, word) for word in choose_demo_words(lang, proof.margins)]
    _show_words(console, studies, proof)
    _show_proof(console, proof)
    _title(console, "Files")
    vectors = _write_vectors(console, elmo, _on_command_line(model, options_file, lang), folder, studies)
    for path in [*vectors, *_draw(console, studies, folder, lang)]:
        console.print(f"  {path.as_posix():<50} {path.stat().st_size:>10,} bytes", highlight=False)
    _show_next(console, lang, studies)


def _on_command_line(model: str | None, options: str | None, lang: str) -> str:
    """The model as it follows --model on a command line."""
    if model is None:
        return lang
    return f"{model}{f' --options {options}' if options else ''} --lang {lang}"


def _load(console: Console, model: str | None, options: str | None, lang: str) -> Elmo:
    """Load the model, by default the bundled one, and encode a sentence."""
    from polyseme.prepared_text import read_target
    from polyseme.senses.labelled import read_senses

    _title(console, "Text becomes vectors")
    names: dict[str, Any] = {}
    sentences = [sentence for word in read_senses(lang=lang) for sentence in word.sentences]
    text, _ = read_target(SEED if lang == "en" else min(sentences, key=len))
    apart = f", options={options!r}" if options else ""
    chosen = f"{model!r}{apart}, lang={lang!r}" if model else repr(lang)  # a bundled model knows how to split text
    _run(console, names, "from polyseme import Elmo", f"elmo = Elmo.from_pretrained({chosen})")
    _run(console, names, f"encoding = elmo.encode({text!r})", "encoding.tokens", "encoding.vectors.shape")
    elmo: Elmo = names["elmo"]
    return elmo


def _show_words(console: Console, studies: list[Study], proof: Proof) -> None:
    """Two sentences for each word: what a static vector cannot tell apart, and what the model can."""
    _title(console, "One word, two meanings")
    console.print(
        "[dim]How similar are the two uses? To a static vector they are the same. Sense compares their contexts. Right "
        "neighbour: how many of the word's eight labelled uses have a nearest use, by sense, that means the same. "
        "Below each sentence are words that the model would put there.[/dim]",
        highlight=False,
    )
    for study in studies:
        first, second = study.answers
        pair = study.pair_by_sense
        console.print()
        for answer in (first, second):
            console.print(_highlighted(answer.example.marked) + _faint(f"  ({answer.example.sense})"))
            if likely := [one.word for one in answer.substitutes if one.probability >= LIKELY][:LISTED]:
                console.print(_faint(f"    {', '.join(likely)}"))
        figures = f"static {study.cosines[0]:.2f}   vector {study.cosines[-1]:.2f}   sense {pair:z.2f}"
        console.print(f"  alike: {figures}   right neighbour: {proof.nearest[study.word]:.0%}", highlight=False)


def _show_proof(console: Console, found: Proof) -> None:
    """Show the figures for all labelled words, not for a few that were picked."""
    _title(console, f"The proof: {len(found.by_word)} words")
    console.print(
        "[dim]How often is a use nearer to one in the same sense than to one in the other? All labelled words, with "
        "95 % intervals over words.[/dim]",
        highlight=False,
    )
    top = len(found.layers) - 1
    for name, one in (
        ("a static vector", found.layers[0]),
        (f"the word's vector, layer {top}", found.layers[top]),
        ("sense", found.sense),
    ):
        console.print(f"  {name:<30} {one.mean:.2f}  [dim]{one.low:.2f} to {one.high:.2f}[/dim]", highlight=False)


def _show_next(console: Console, lang: str, studies: list[Study]) -> None:
    """What to try next, also with the bundled models of other languages."""
    from rich.cells import cell_len
    from rich.text import Text

    from polyseme.formats.releases.known import bundled_models

    _title(console, "Next")
    marked = studies[0].answers[1].example.marked
    model = "" if lang == "en" else f" --model {lang}"
    commands = {
        f"polyseme senses {studies[1].word}{model}": "its uses in a text, in groups",
        f'polyseme neighbours "{marked}"{model}': "",
        "polyseme serve": "all this as a page",
    }
    others = [f"polyseme demo --lang {other}" for other in bundled_models() if other != lang]
    for command, told in {**commands, **dict.fromkeys(others, "")}.items():
        if cell_len(command) > WIDTH - 4:  # a wrapped command cannot be copied
            continue
        console.print(Text.assemble("  ", (command, "cyan"), (f"  {told}" if told else "", "dim")), soft_wrap=True)


def _write_vectors(console: Console, elmo: Elmo, chosen: str, folder: Path, studies: list[Study]) -> list[Path]:
    """Write the demo's sentences and their vectors to files; ``chosen`` is the model as the command line names it."""
    from polyseme.embed.job import embed_files
    from polyseme.prepared_text import read_target

    sentences, vectors = folder / "sentences.txt", folder / "vectors.h5"
    lines = [read_target(answer.example.marked)[0] for study in studies for answer in study.answers]
    sentences.write_text("\n".join(lines) + "\n", encoding="utf-8")
    vectors.unlink(missing_ok=True)
    _command(console, f"polyseme embed {sentences.as_posix()} --model {chosen} --out {vectors.as_posix()}")
    embed_files([sentences], vectors, elmo, overwrite=True)
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
    from rich.text import Text

    console.print()
    console.print(Rule(Text(text, style="bold"), align="left", style="dim"))


def _command(console: Console, command: str) -> None:
    """Print a command line, wrapped so that it can be copied."""
    lines = ["$"]
    for piece in re.findall(r"--\S+ \S+|\S+", command):  # an option stays with its value
        if len(lines[-1]) + len(piece) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {piece}"
    console.print("\n".join(lines), style="cyan", highlight=False, soft_wrap=True)


def _run(console: Console, names: dict[str, Any], *statements: str) -> None:
    """Show lines of Python and run them like the interactive interpreter, which prints the values of expressions."""
    from rich.syntax import Syntax

    for statement in statements:
        prompt = ">>> " + statement.replace("\n", "\n... ")
        console.print(Syntax(prompt, "pycon", background_color="default"))
        exec(compile(statement, "<demo>", "single"), names)


def _highlighted(marked: str) -> Text:
    """A sentence with its marked word in colour instead of brackets."""
    from rich.text import Text

    from polyseme.prepared_text import split_at_target

    before, word, after = split_at_target(marked)
    return Text.assemble(before, (word, "bold cyan"), after)


def _faint(text: str) -> Text:
    from rich.text import Text

    return Text(text, style="dim")
