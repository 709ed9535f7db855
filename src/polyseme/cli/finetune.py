"""polyseme finetune: a trained model and a corpus folder → a model of that corpus."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.bars import is_first_process
from polyseme.cli.launch import share_out
from polyseme.cli.options import ModelArgument, RunOptions, with_groups
from polyseme.cli.pretrain import shown_run
from polyseme.cli.printing import new_table, on_terminal, print_json, print_table, print_tsv

if TYPE_CHECKING:
    from polyseme.pretrain.training.finetuning import Outcome


@with_groups
def finetune(
    model: ModelArgument,
    run: RunOptions,
    softmax_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens for fitting a new softmax first, if the model's lacks words of the corpus; "
            "set it to the whole budget to leave the biLM unchanged.",
            metavar="N",
            min=0,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the perplexities as JSON.")] = False,
) -> None:
    """Continue training a model on your own corpus, and report how much better it predicts it.

    The new model has the words of the corpus. Words that the model's softmax knows keep their rows. Rows for other
    words, or a whole softmax if there is none, are fitted first, while the biLM is frozen.

    Examples:

      polyseme finetune en corpus --out run --set budget.tokens=2000000

      polyseme finetune elmo_weights.hdf5 corpus --out run --softmax-tokens 3000000
    """
    if share_out(run.processes):
        return
    from polyseme.pretrain.training.finetuning import finetune as run_finetuning

    changes = [] if softmax_tokens is None else [f"budget.softmax_tokens={softmax_tokens}"]
    plan = run.plan(model, "finetune", *changes)
    outcome = run_finetuning(plan, resume=run.resume, watch=shown_run(run.quiet, plan))
    if not is_first_process():
        return
    _print(outcome, as_json)
    if not run.quiet:
        typer.echo(_trained(outcome), err=True)
        typer.echo(f"the model is in {outcome.model}\nnext: polyseme evaluate {outcome.model} FILE", err=True)


def _trained(outcome: Outcome) -> str:
    """A sentence that says what the budget was spent on."""
    if not outcome.all_tokens:
        return f"trained: the softmax alone, with {outcome.softmax_tokens:,} tokens; the biLM is unchanged"
    if not outcome.softmax_tokens:
        return f"trained: all weights, with {outcome.all_tokens:,} tokens"
    first, then = outcome.softmax_tokens, outcome.all_tokens
    return f"trained: the softmax alone with {first:,} tokens, then all weights with {then:,}"


def _print(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(outcome), "model": str(outcome.model)})
        return
    looks = {"before": outcome.before, "softmax fitted": outcome.fitted, "after": outcome.after}
    columns = ("forward", "backward", "average", "bits_per_byte")
    rows = [(name, *(look[column] for column in columns)) for name, look in looks.items() if look is not None]
    if not on_terminal():
        print_tsv(("held-out perplexity", *columns), rows)
        return
    table = new_table(
        "held-out perplexity", "forward", "backward", "average", "bits per byte", left=("held-out perplexity",)
    )
    for name, *perplexities, bits in rows:
        shown = ["" if value is None else f"{value:,.2f}" for value in perplexities]
        table.add_row(str(name), *shown, f"{bits:.4f}")
    print_table(table)
