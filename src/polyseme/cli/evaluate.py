"""polyseme evaluate: how well a model predicts text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyseme.cli.options import Field, Lang, ModelArgument, OptionsFile, TwoThreads
from polyseme.cli.printing import escaped, new_table, on_terminal, print_json, print_table, print_tsv

if TYPE_CHECKING:
    from polyseme.jobs.progress import Work
    from polyseme.lm.likelihood import Likelihood
    from polyseme.pretrain.training.evaluate_files import DocumentLikelihood

COLUMNS = ("forward", "backward", "average", "bits_per_byte", "tokens", "unknown_rate")


def evaluate(
    model: ModelArgument,
    files: Annotated[
        list[str],
        typer.Argument(
            help="Text files, globs or - (txt, jsonl, csv, tsv, parquet, conllu, fasta; also .gz .xz .bz2 .zst).",
            metavar="FILE",
        ),
    ],
    options_file: OptionsFile = None,
    state: Annotated[
        Literal["reset", "warm", "carry"] | None,
        typer.Option(
            help="Start each sentence from zero, from one fixed state, or where the previous one in its document "
            "ended; by default, as the model says."
        ),
    ] = None,
    per_document: Annotated[
        bool,
        typer.Option(
            "--per-document", help="Also print figures for each document; in text, empty lines separate documents."
        ),
    ] = False,
    lang: Lang = None,
    field: Field = None,
    threads: TwoThreads = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, after a line for each document if asked for.")
    ] = False,
) -> None:
    """Measure how well a model predicts text: full-softmax perplexity, forward, backward and average.

    The average is the exponential of the mean loss of both directions, as in the paper. Every sentence has one more
    prediction than tokens: its end. An unknown word costs what <UNK> costs, so compare only models with the same
    vocabulary. In a pipe: tab-separated lines.

    Examples:

      polyseme evaluate en held-out.txt

      polyseme evaluate ./my-model wiki.test.tokens --lang whitespace --state carry --json
    """
    from polyseme.formats.detect import load
    from polyseme.jobs.progress import working
    from polyseme.pretrain.training.evaluate_files import evaluate_files
    from polyseme.pretrain.training.parallel import on_cores, parallel_threads
    from polyseme.sentence_reader import card_state

    stored = load(model, options=options_file)
    state = state or card_state(stored)
    unit: Literal["line", "document"] = "document" if per_document or state == "carry" else "line"
    facts = {"model": model, "state": state, "vocabulary_size": len(stored.vocabulary or ())}
    report = _Report(facts, per_document=per_document, as_json=as_json)
    with on_cores(threads or parallel_threads()) as run, working("evaluating") as work:
        found = evaluate_files(stored, files, state=state, unit=unit, lang=lang, field=field, run=run)
        report.print(_shown_while(found, work))


def _shown_while(found: Iterator[DocumentLikelihood], work: Work) -> Iterator[DocumentLikelihood]:
    total = None
    for document in found:
        total = document.likelihood if total is None else total + document.likelihood
        work.reach(total.tokens, tokens=total.tokens, note=f"perplexity {total.perplexity:,.1f} so far")
        yield document


@dataclass(frozen=True, slots=True)
class _Report:
    """How the figures are printed; documents are printed as they come, so memory does not grow with their number."""

    facts: dict[str, Any]
    per_document: bool
    as_json: bool

    def print(self, found: Iterator[DocumentLikelihood]) -> None:
        if self.as_json:
            self._print_json(found)
        elif on_terminal():
            self._print_table(found)
        else:
            rows = (
                (file, document, *self.facts.values(), *figures.values())
                for file, document, figures in self._rows(found)
            )
            print_tsv(("file", "document", *self.facts, *COLUMNS), rows)

    def _rows(self, found: Iterator[DocumentLikelihood]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """(file, document, figures) of each document if asked for, of each file, and of all if there are several."""
        files: dict[str, Likelihood] = {}
        for one in found:
            files[one.source] = files[one.source] + one.likelihood if one.source in files else one.likelihood
            if self.per_document:
                yield one.source, one.id, self._figures(one.likelihood)
        for name, likelihood in files.items():
            yield name, "", self._figures(likelihood)
        if len(files) > 1:
            first, *others = files.values()
            yield "all", "", self._figures(sum(others, first))

    @staticmethod
    def _figures(likelihood: Likelihood) -> dict[str, Any]:
        return {name: likelihood.to_dict()[name] for name in COLUMNS}

    def _print_json(self, found: Iterator[DocumentLikelihood]) -> None:
        """A line for each document, then one object with the files and their sum."""
        files: list[dict[str, Any]] = []
        for file, document, figures in self._rows(found):
            if document:
                print_json({"file": file, "document": document} | figures)
            else:
                files.append({"file": file} | figures)
        total = {name: value for name, value in files[-1].items() if name != "file"}
        listed = files[:-1] if len(files) > 1 else files
        print_json(self.facts | total | {"files": listed})

    def _print_table(self, found: Iterator[DocumentLikelihood]) -> None:
        model, state, words = self.facts.values()
        titles = ("file", "document", "forward", "backward", "perplexity", "bits per byte", "tokens", "unknown")
        shown = [title for title in titles if self.per_document or title != "document"]
        title = f"{model}, state {state}, a vocabulary of {words:,} words"
        table = new_table(*shown, title=title, left=("file",))
        for file, document, figures in self._rows(found):
            perplexities = [figures[name] for name in COLUMNS[:3]]
            cells = [f"{value:,.2f}" if value is not None else "" for value in perplexities]
            cells += [f"{figures['bits_per_byte']:.4f}", f"{figures['tokens']:,}", f"{figures['unknown_rate']:.2%}"]
            table.add_row(escaped(file), *([document] if self.per_document else []), *cells)
        print_table(table)
