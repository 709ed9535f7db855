"""The output of the task verbs: training progress, scores as a table, the learned mixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polyseme.cli.bars import shown_duration
from polyseme.cli.printing import bar, new_table, on_terminal, print_json, print_table, print_tsv

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyseme.tasks.definition import TrainingChoices
    from polyseme.tasks.run import Finished
    from polyseme.tasks.scores import Scores
    from polyseme.tasks.training import TaskWatch, TrainingProgress


def shown_training(quiet: bool, choices: TrainingChoices | None = None) -> TaskWatch:
    """Prints a line at each evaluation on dev, and, if the choices are known, how long training will take at most."""
    from polyseme.tasks.training import TaskWatch

    if quiet:
        return TaskWatch()

    def say(line: str) -> None:
        typer.echo(line, err=True)

    def looked(progress: TrainingProgress, scores: Scores) -> None:
        last = progress.history[-1]
        values = ", ".join(f"{name} {value:.2f}" for name, value in scores.values.items())
        best = " (best)" if progress.stale == 0 else ""
        if choices is not None and progress.epoch == 1 and not progress.finished(choices):
            longest = shown_duration(progress.seconds * choices.epochs)
            say(f"at most {choices.epochs} epochs, at most about {longest}")
        say(f"epoch {progress.epoch}: loss {last['loss']:.4f}, dev {values}{best}, {last['seconds']:.0f} s")

    return TaskWatch(said=say, looked=looked)


def print_scores(scores: Scores, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Print all values, then the same values for each class."""
    if as_json:
        print_json({**scores.to_dict(), **(more or {})})
        return
    names = list(dict.fromkeys([*scores.values, *(name for row in scores.classes.values() for name in row)]))
    rows = [["all", *(scores.values.get(name) for name in names)]]
    rows += [[label, *(row.get(name) for name in names)] for label, row in scores.classes.items()]
    if not on_terminal():
        print_tsv(["class", *names], rows)
        return
    table = new_table("class", *names, left=["class"])
    for row in rows:
        table.add_row(str(row[0]), *(_shown(name, value) for name, value in zip(names, row[1:], strict=True)))
    print_table(table)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if name == "support" else f"{value:.2f}"


def print_summary(finished: Finished, out: Path, metric: str) -> None:
    """Print what the mixes have learned, where the model is, and what to do with it next."""
    for place, mix in finished.mixes.items():
        layers = "  ".join(f"{number} {bar(share, 8)} {share:.2f}" for number, share in enumerate(mix["shares"]))
        typer.echo(f"mix at the {place}: {layers}  times {mix['scale']:.2f}", err=True)
    progress = finished.progress
    typer.echo(
        f"{out}: dev {metric} {progress.best:.2f} after epoch {progress.best_epoch} of {progress.epoch}, "
        f"{progress.seconds:.0f} s",
        err=True,
    )
    typer.echo(f"next: polyseme task eval {out} FILE, or polyseme task predict {out} TEXT", err=True)


def write_pieces(pieces: Iterable[str], out: Path | None) -> None:
    """Write to a file, which appears once it is complete, or to standard output piece by piece."""
    from polyseme.jobs.atomic import replace_when_complete

    if out is None:
        for piece in pieces:
            typer.echo(piece, nl=False)
        return
    with replace_when_complete(out) as file:
        for piece in pieces:
            file.write(piece.encode())
