"""polyseme pretrain: a corpus folder → a biLM."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.options import (
    Changes,
    HeldOut,
    PreparedCorpus,
    Quiet,
    ResumeRun,
    RunFolder,
    TrainingDevice,
    TwoThreads,
)

if TYPE_CHECKING:
    from polyseme.pretrain.training.perplexity import Likelihood
    from polyseme.pretrain.training.pretraining import RunPlan, Watch
    from polyseme.pretrain.training.trainer import StepReport, Training

#: Where nobody watches, a line so often.
LINE_SECONDS = 60.0


def pretrain(
    corpus: PreparedCorpus,
    out: RunFolder,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="tiny, compact (unless given), small, medium, original, or a .toml file; a resumed run keeps its own.",
            metavar="NAME",
        ),
    ] = None,
    change: Changes = None,
    valid: HeldOut = None,
    init: Annotated[
        str | None,
        typer.Option(help="Begin with the weights of this model, in its shape.", metavar="MODEL"),
    ] = None,
    resume: ResumeRun = False,
    seed: Annotated[int, typer.Option(help="Of weights, order and dropout.")] = 0,
    device: TrainingDevice = "cpu",
    threads: TwoThreads = None,
    quiet: Quiet = False,
) -> None:
    """Train a biLM on a prepared corpus.

    Examples:

      polyseme pretrain corpus --recipe tiny --out run

      polyseme pretrain corpus --set optimizer.rate=0.002 --out run --resume
    """
    from polyseme.pretrain.recipe import load_recipe
    from polyseme.pretrain.training.parallel import parallel_threads
    from polyseme.pretrain.training.pretraining import RunPlan, Watch, resumed_recipe
    from polyseme.pretrain.training.pretraining import pretrain as run_training

    changes = change or []
    chosen = resumed_recipe(out, recipe, changes) if resume else load_recipe(recipe or "compact", changes)
    plan = RunPlan(
        corpus=corpus,
        out=out,
        recipe=chosen,
        valid=valid,
        init=init,
        seed=seed,
        device=device,
        threads=threads or parallel_threads(),
    )
    with progress(quiet or os.environ.get("RANK", "0") != "0") as watch:
        model = run_training(plan, resume=resume, watch=_telling_the_shape(watch, plan) if watch else Watch())
    if not quiet and os.environ.get("RANK", "0") == "0":
        typer.echo(f"the model is in {model}\nnext: polyseme embed TEXT --model {model} --out vectors.h5", err=True)


def _telling_the_shape(watch: Watch, plan: RunPlan) -> Watch:
    """The same, which first says so if the network is not the recipe's."""

    def started(training: Training) -> None:
        if training.recipe.model != plan.recipe.model:
            typer.echo(f"the network has the shape of {plan.init}, not that of the recipe {plan.recipe.name}", err=True)
        watch.started(training)

    return replace(watch, started=started)


@contextmanager
def progress(quiet: bool) -> Iterator[Watch | None]:
    """A bar where a person watches, a line a minute where not."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as watch:
            yield watch
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from polyseme.pretrain.training.pretraining import Watch

    columns = (
        TextColumn("{task.percentage:3.0f} %"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    pace = _Pace()
    held: list[Training] = []
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("starting", total=None)

        def started(training: Training) -> None:
            held.append(training)
            progress.update(task, total=training.recipe.budget.tokens, completed=training.tokens)

        def stepped(report: StepReport) -> None:
            progress.update(task, completed=report.tokens, description=pace.line(report, held[0]))

        def validated(tokens: int, likelihood: Likelihood) -> None:
            progress.console.print(_validation_line(tokens, likelihood))

        yield Watch(started, stepped, validated)


def _lines() -> Watch:
    from polyseme.pretrain.training.pretraining import Watch

    pace = _Pace()
    held: list[Training] = []
    said = [time.monotonic()]

    def stepped(report: StepReport) -> None:
        line = pace.line(report, held[0])
        if time.monotonic() - said[0] >= LINE_SECONDS:
            said[0] = time.monotonic()
            typer.echo(f"{line} · {pace.left(report, held[0])} left", err=True)

    def validated(tokens: int, likelihood: Likelihood) -> None:
        typer.echo(_validation_line(tokens, likelihood), err=True)

    return Watch(held.append, stepped, validated)


class _Pace:
    """Speed and loss, smoothed over the last steps."""

    def __init__(self) -> None:
        self.last: tuple[float, int] | None = None
        self.speed: float | None = None
        self.loss: float | None = None

    def line(self, report: StepReport, training: Training) -> str:
        now = time.monotonic()
        if self.last is not None and now > self.last[0]:
            speed = (report.tokens - self.last[1]) / (now - self.last[0])
            self.speed = speed if self.speed is None else 0.95 * self.speed + 0.05 * speed
        self.last = now, report.tokens
        self.loss = report.loss if self.loss is None else 0.98 * self.loss + 0.02 * report.loss
        pace = "–" if self.speed is None else f"{self.speed:,.0f}"
        epoch = training.sampler.position["epoch"] + 1
        return f"{report.tokens:,} tokens · {pace}/s · loss {self.loss:.3f} · rate {report.rate:.2g} · epoch {epoch}"

    def left(self, report: StepReport, training: Training) -> str:
        if not self.speed:
            return "–"
        minutes = (training.recipe.budget.tokens - report.tokens) / self.speed / 60
        return f"{minutes / 60:.1f} h" if minutes > 90 else f"{minutes:.0f} min"


def _validation_line(tokens: int, likelihood: Likelihood) -> str:
    forward, backward, average = likelihood.perplexities
    return f"{tokens:,} tokens: held-out perplexity {average:.1f} (forward {forward:.1f}, backward {backward:.1f})"
