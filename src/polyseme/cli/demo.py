"""polyseme demo: everything once, on a few sentences; each line of Python that it shows is the line that it runs."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from polyseme.elmo import Elmo
    from polyseme.pretrain.run import Watch
    from polyseme.pretrain.trainer import StepReport

WIDTH = 80

#: A word, two sentences that mean different things by it, and what they mean.
SENSES = {
    "present": (("Live in the present, not in the past.", "now"), ("Here is your birthday present.", "gift")),
    "bank": (("They fished from the bank of the river.", "river"), ("I have some money in the bank.", "money")),
}


def demo(
    out: Annotated[Path, typer.Option(help="The folder for what the demo writes.", metavar="DIR")] = Path(
        "demo-output"
    ),
) -> None:
    """Show what polyseme does: tokens, vectors, the senses of a word, files.

    Examples:

      polyseme demo

      polyseme demo --out first-look
    """
    from rich.console import Console

    console = Console()
    console.width = min(console.width, WIDTH)
    out.mkdir(parents=True, exist_ok=True)
    model, toy = _model(console, out)
    names: dict[str, Any] = {}
    _title(console, "Text becomes vectors")
    _run(console, names, "from polyseme import Elmo", f"elmo = Elmo.from_pretrained({model!r})")
    _run(console, names, f"present = elmo.encode({SENSES['present'][1][0]!r})", "present.tokens")
    _run(console, names, "present.vectors.shape         # tokens × numbers: the mean of the layers")
    _run(console, names, "present.layers.shape          # layers × tokens × numbers")
    elmo: Elmo = names["elmo"]
    _title(console, "One word, two senses")
    _show_similarities(console, elmo)
    _title(console, "Where is the word used like this?")
    _show_nearest(console, elmo)
    _title(console, "What else could stand there?")
    _show_substitutes(console, elmo)
    _title(console, "Files")
    _write_vectors(console, elmo, model, out)
    if toy:
        console.print(
            "\n[bold]This was a toy model.[/bold] It has read one page of text, a hundred times over, and knows no "
            "more English than that. Train one of your own with [cyan]polyseme prepare[/cyan] and "
            "[cyan]polyseme pretrain[/cyan], or load a released one: [cyan]polyseme info MODEL[/cyan]."
        )


def bundled_model(language: str) -> Path | None:
    """The folder of a model that came with the package."""
    from importlib import resources

    folder = Path(str(resources.files("polyseme"))) / "models" / language
    return folder if folder.is_dir() else None


def _model(console: Console, out: Path) -> tuple[str, bool]:
    """The name of the model to use, and whether it is a toy: the bundled one, else one that is trained here and now."""
    if bundled_model("en") is not None:
        return "en", False
    _title(console, "No trained model is bundled yet: the demo trains a toy")
    from polyseme.elmo import Elmo
    from polyseme.pretrain.toy import CHANGES, TEXT, TOKENS, train_toy

    changes = " ".join(f"--set {change}" for change in CHANGES)
    _command(console, f"polyseme prepare {TEXT.name} --out corpus")
    _command(console, f"polyseme pretrain corpus --recipe tiny {changes} --out run")
    folder = out / "model"
    with tempfile.TemporaryDirectory() as temporary, _training_bar(console, TOKENS) as watch:
        Elmo.from_pretrained(train_toy(Path(temporary), tokens=TOKENS, watch=watch)).save_pretrained(folder)
    return folder.as_posix(), True


@contextmanager
def _training_bar(console: Console, tokens: int) -> Iterator[Watch]:
    """A bar while the toy is trained, and one line when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from polyseme.pretrain.run import Watch

    reports: list[StepReport] = []
    began = time.monotonic()
    columns = (TextColumn("training"), BarColumn(), TextColumn("loss {task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, width=console.width), transient=True) as bar:
        task = bar.add_task("", total=tokens)

        def stepped(report: StepReport) -> None:
            reports.append(report)
            bar.update(task, completed=report.tokens, description=f"{report.loss:.2f}")

        yield Watch(stepped=stepped)
    console.print(
        f"{reports[-1].tokens:,} tokens in {time.monotonic() - began:.0f} s: "
        f"the loss fell from {reports[0].loss:.2f} to {reports[-1].loss:.2f}",
        highlight=False,
    )


def _show_similarities(console: Console, elmo: Elmo) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("the same word in two sentences")
    for layer in range(elmo.config.layers + 1):
        table.add_column(f"layer {layer}", justify="right")
    for word, ((first, _), (second, _)) in SENSES.items():
        cosines = elmo.similarity(_marked(first, word), _marked(second, word))
        table.add_row(_styled(first, word), *(f"{cosine:.2f}" for cosine in cosines))
        table.add_row(_styled(second, word))
        table.add_row()
    first, second = (_marked(sentence, "present") for sentence, _ in SENSES["present"])
    _run(console, {"elmo": elmo}, f"elmo.similarity({first!r},\n                {second!r})")
    console.print()
    console.print(table)
    console.print("[dim]Cosine of the two vectors; layer 0 sees the word alone, so there they are equal.[/dim]")


def _show_nearest(console: Console, elmo: Elmo) -> None:
    from polyseme.pretrain.toy import TEXT

    text = [line for line in TEXT.read_text(encoding="utf-8").splitlines() if line]
    console.print(f"[dim]Of the {len(text)} sentences of {TEXT.name}, those whose word has the nearest vector:[/dim]")
    for word, senses in SENSES.items():
        sentences = [line for line in text if word in line.rstrip(".?").split()]
        for sentence, meaning in senses:
            console.print(f"\n{_styled(sentence, word)}  [dim]({meaning})[/dim]", highlight=False)
            for cosine, found in nearest(elmo, sentence, word, sentences)[:2]:
                console.print(f"  [dim]{cosine:.2f}[/dim]  {_styled(found, word)}", highlight=False)


def nearest(elmo: Elmo, sentence: str, word: str, others: Sequence[str]) -> list[tuple[float, str]]:
    """The other sentences with the cosine of their ``word`` to this one's, the nearest first."""
    import numpy as np

    vector = elmo.encode(sentence)[word]  # [W]
    matrix = np.stack([encoding[word] for encoding in elmo.encode(list(others))])  # [others, W]
    cosines = matrix @ vector / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector))
    return [(float(cosines[i]), others[i]) for i in np.argsort(-cosines)]


def _show_substitutes(console: Console, elmo: Elmo) -> None:
    console.print("[dim]What the forward and the backward model together would put in its place:[/dim]")
    for word, senses in SENSES.items():
        for sentence, _ in senses:
            found = [each for each in elmo.substitutes(_marked(sentence, word), k=5) if each.probability >= 0.005]
            words = ", ".join(f"{each.word} [dim]{each.probability:.0%}[/dim]" for each in found)
            console.print(f"\n{_styled(sentence, word)}\n  {words}", highlight=False)


def _write_vectors(console: Console, elmo: Elmo, model: str, out: Path) -> None:
    from polyseme.embed.job import embed_files

    sentences, vectors = out / "sentences.txt", out / "vectors.h5"
    lines = [sentence for senses in SENSES.values() for sentence, _ in senses]
    sentences.write_text("\n".join(lines) + "\n", encoding="utf-8")
    vectors.unlink(missing_ok=True)
    _command(console, f"polyseme embed {sentences.as_posix()} --model {model} --out {vectors.as_posix()}")
    embed_files([sentences], vectors, elmo)
    _run(console, {}, "from polyseme.embed import read", f"next(read({vectors.as_posix()!r})).vectors.shape")
    for path in (*sorted((out / "model").glob("*")), sentences, vectors):
        console.print(f"  {path.as_posix():<40} {path.stat().st_size:>10,} bytes", highlight=False)


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


def _marked(sentence: str, word: str) -> str:
    return sentence.replace(word, f"[{word}]")


def _styled(sentence: str, word: str) -> str:
    return sentence.replace(word, f"[bold yellow]{word}[/bold yellow]")
