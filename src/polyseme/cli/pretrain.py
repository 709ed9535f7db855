"""polyseme pretrain: a corpus folder → a biLM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.bars import is_first_process
from polyseme.cli.launch import share_out
from polyseme.cli.options import RunOptions, with_groups

if TYPE_CHECKING:
    from polyseme.lm.likelihood import Likelihood
    from polyseme.pretrain.training.open_run import Watch
    from polyseme.pretrain.training.run_plan import RunPlan
    from polyseme.pretrain.training.trainer import Training


@with_groups
def pretrain(
    run: RunOptions,
    init: Annotated[
        str | None,
        typer.Option(help="Start from this model's weights and shape.", metavar="MODEL"),
    ] = None,
) -> None:
    """Train a biLM on a prepared corpus.

    Examples:

      polyseme pretrain corpus --recipe tiny --out run

      polyseme pretrain corpus --set optimizer.rate=0.002 --out run --resume
    """
    if share_out(run.processes):
        return
    from polyseme.pretrain.training.pretraining import pretrain as run_training

    plan = run.plan(init, "compact")
    model = run_training(plan, resume=run.resume, watch=shown_run(run.quiet, plan))
    if not run.quiet and is_first_process():
        typer.echo(f"the model is in {model}\nnext: polyseme embed TEXT --model {model} --out vectors.h5", err=True)


def shown_run(quiet: bool, plan: RunPlan) -> Watch:
    """Prints a line at each validation, and first a notice if the network is not the recipe's."""
    from polyseme.pretrain.training.open_run import Watch

    if quiet or not is_first_process():
        return Watch()

    def started(training: Training) -> None:
        if training.recipe.model != plan.recipe.model:
            typer.echo(f"the network has the shape of {plan.init}, not that of the recipe {plan.recipe.name}", err=True)

    def validated(tokens: int, likelihood: Likelihood) -> None:
        forward, backward = likelihood.perplexities
        both = "" if backward is None else f" (forward {forward:.1f}, backward {backward:.1f})"
        typer.echo(f"{tokens:,} tokens: held-out perplexity {likelihood.perplexity:.1f}{both}", err=True)

    return Watch(started=started, validated=validated)
