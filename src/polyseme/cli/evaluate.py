"""polyseme evaluate: how well a model predicts text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyseme.cli.tables import new_table, on_terminal, print_table, print_tsv

if TYPE_CHECKING:
    from polyseme.pretrain.evaluate import Likelihood
    from polyseme.pretrain.evaluate_files import DocumentLikelihood
    from polyseme.pretrain.threads import Runner

COLUMNS = ("forward", "backward", "average", "bits_per_byte", "tokens", "unknown_rate")


def evaluate(
    model: Annotated[str, typer.Argument(help="A bundled model (en, ko, zh), a folder, a file or a hub id.")],
    files: Annotated[
        list[str],
        typer.Argument(
            help="Text files, globs or - (txt, jsonl, csv, tsv, parquet, conllu, fasta; also .gz .xz .bz2 .zst).",
            metavar="FILE...",
        ),
    ],
    state: Annotated[
        Literal["reset", "warm", "carry"],
        typer.Option(
            help="Each sentence from zero, from one fixed state, or from where the one before it in its document ended."
        ),
    ] = "reset",
    per_document: Annotated[
        bool, typer.Option("--per-document", help="Figures of each document too; in text, empty lines separate them.")
    ] = False,
    lang: Annotated[
        str | None,
        typer.Option(help="How text is split, if not as the model says; 'whitespace': tokens, one sentence a line."),
    ] = None,
    field: Annotated[str | None, typer.Option(help="Field of a table that has the text; 'text' unless given.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads, 1 or 2.", metavar="N", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object; before it one line for each document, if asked for.")
    ] = False,
) -> None:
    """Say how well a model predicts text: exact perplexity with the full softmax, forward, backward and average.

    The average is the exponential of the mean loss of both directions, as the paper reports it. Every sentence has one
    prediction more than tokens: its end. An unknown word costs what <UNK> costs, so compare models with the same
    vocabulary only. In a pipe: tab-separated lines.

    Examples:

      polyseme evaluate en held-out.txt

      polyseme evaluate ./my-model wiki.test.tokens --lang whitespace --state carry --json
    """
    from polyseme.formats.detect import load
    from polyseme.pretrain.evaluate_files import evaluate_files

    stored = load(model)
    unit: Literal["line", "document"] = "document" if per_document or state == "carry" else "line"
    facts = {"model": model, "state": state, "vocabulary_size": len(stored.vocabulary or ())}
    report = _Report(facts, both=stored.config.bidirectional, per_document=per_document, as_json=as_json)
    with _runner(threads) as run, _progress(quiet) as show:
        found = evaluate_files(stored, files, state=state, unit=unit, lang=lang, field=field, run=run)
        for document in found:
            report.add(document)
            show(report.total)
    report.finish()


class _Report:
    """What has been evaluated so far; documents are printed as they come, so that no number of them needs memory."""

    def __init__(self, facts: dict[str, Any], *, both: bool, per_document: bool, as_json: bool) -> None:
        from polyseme.pretrain.evaluate import Likelihood

        self.total, self.files = Likelihood(), dict[str, Likelihood]()
        self.facts, self.nothing = facts, Likelihood()
        self.both, self.per_document, self.as_json = both, per_document, as_json
        self.table = new_table(*self._titles(), left=("file",)) if on_terminal() and not as_json else None
        if self.table is None and not as_json:
            print_tsv(("file", "document", *facts, *COLUMNS))

    def add(self, document: DocumentLikelihood) -> None:
        self.total += document.likelihood
        self.files[document.source] = self.files.get(document.source, self.nothing) + document.likelihood
        if self.per_document and self.as_json:
            place = {"file": document.source, "document": document.id}
            typer.echo(json.dumps(place | self._figures(document.likelihood), ensure_ascii=False))
        elif self.per_document:
            self._row(document.source, document.id, document.likelihood)

    def finish(self) -> None:
        """The files and their sum."""
        if self.as_json:
            files = [{"file": name} | self._figures(likelihood) for name, likelihood in self.files.items()]
            typer.echo(json.dumps(self.facts | self._figures(self.total) | {"files": files}, ensure_ascii=False))
            return
        for name, likelihood in self.files.items():
            self._row(name, "", likelihood)
        if len(self.files) > 1:
            self._row("all", "", self.total)
        if self.table is not None:
            model, state, words = self.facts.values()
            self.table.title = f"{model}, state {state}, a vocabulary of {words:,} words"
            print_table(self.table)

    def _row(self, file: str, document: str, likelihood: Likelihood) -> None:
        figures = self._figures(likelihood)
        if self.table is None:
            print_tsv((file, document, *self.facts.values(), *figures.values()))
            return
        perplexities = [figures[name] for name in COLUMNS[:3]]
        shown = [f"{value:,.2f}" if value is not None else "" for value in perplexities]
        rest = (f"{figures['bits_per_byte']:.4f}", f"{figures['tokens']:,}", f"{figures['unknown_rate']:.2%}")
        self.table.add_row(file, *([document] if self.per_document else []), *shown, *rest)

    def _figures(self, likelihood: Likelihood) -> dict[str, Any]:
        figures: dict[str, Any] = {name: likelihood.to_dict()[name] for name in COLUMNS}
        return figures if self.both else figures | {"backward": None}

    def _titles(self) -> tuple[str, ...]:
        document = ("document",) if self.per_document else ()
        return ("file", *document, "forward", "backward", "perplexity", "bits per byte", "tokens", "unknown")


@contextmanager
def _runner(threads: int | None) -> Iterator[Runner]:
    from polyseme.pretrain.run import parallel_threads
    from polyseme.pretrain.threads import one_after_the_other, side_by_side

    if (threads or parallel_threads()) > 1:
        with side_by_side() as run:
            yield run
    else:
        yield one_after_the_other


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Likelihood], None]]:
    """Tokens and perplexity so far, on standard error where a person watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield lambda total: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("evaluating")

        def show(total: Likelihood) -> None:
            bar.update(task, description=f"{total.tokens:,} tokens, perplexity {total.perplexities[2]:,.1f} so far")

        yield show
