"""polyseme reproduce: the tables and figures of the paper, measured with your own model and data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli.options import Model, OptionsFile, Quiet, State, Threads, from_everywhere
from polyseme.cli.printing import new_table, on_terminal, print_table, print_tsv
from polyseme.cli.task_output import shown_training

if TYPE_CHECKING:
    from polyseme.reproduce.measurement import Measurement
    from polyseme.reproduce.reproduction import WantedPart


def reproduce(
    out: Annotated[
        Path, typer.Option(help="The folder for the report; with --render, also a .md or .html file.", metavar="REPORT")
    ],
    data: Annotated[Path | None, typer.Option(help="The folder with the data sets.", metavar="DIR")] = None,
    model: Model = "en",
    options_file: OptionsFile = None,
    state: State = None,
    budget: Annotated[
        Literal["quick", "cpu", "full"],
        typer.Option(help="quick: minutes; cpu: about ten hours on two cores; full: the paper's sizes."),
    ] = "cpu",
    only: Annotated[
        str | None,
        typer.Option(help="Only these parts: table1 … table6, figure1, figure2, perplexity, senses, languages."),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task, in parts that train tasks; may be repeated.")
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(help="For Table 4: your own sentence with a word in [brackets].", metavar="TEXT"),
    ] = None,
    vectors: Annotated[
        str, typer.Option(help="Word vectors: glove, or a file (GloVe, word2vec, fastText).", metavar="glove|FILE")
    ] = "glove",
    cove: Annotated[
        Path | None,
        typer.Option(help="CoVe's weights, for its rows; --vectors names the word vectors it reads.", metavar="FILE"),
    ] = None,
    device: Annotated[str, typer.Option(help="Device for the task models: cpu, cuda, cuda:N, mps, or auto.")] = "cpu",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only print what remains to be done, and how long it will take.")
    ] = False,
    render: Annotated[
        Path | None, typer.Option(help="Only write the report again from these results.", metavar="RESULTS.json")
    ] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Measure every table and figure of the paper, and write a comparison as HTML, Markdown and JSON.

    Finished measurements are kept in the report's folder, so the same command continues after a stop. Parts whose data
    are missing are skipped, with a line that names what was looked for.

    Examples:

      polyseme reproduce --data data --budget quick --out report --estimate

      polyseme reproduce --data data --budget quick --only table4,senses --out report
    """
    if render is not None:
        _render(render, out)
        return
    if data is None:
        raise typer.BadParameter("give the folder that holds the data sets", param_hint="--data")
    from polyseme.cli.options import use_threads
    from polyseme.elmo import Elmo
    from polyseme.reproduce.bench import Bench, check_given
    from polyseme.reproduce.budgets import BUDGETS
    from polyseme.reproduce.neighbour_questions import QUESTIONS
    from polyseme.reproduce.report import Asked
    from polyseme.reproduce.report_parts import Choice
    from polyseme.reproduce.reproduction import Reproduction
    from polyseme.tasks.vectors.static import named_vectors

    choice = Choice(only.replace(" ", "").split(",") if only else (), task or ())
    static = from_everywhere(named_vectors(vectors))
    check_given(data, static, cove, ask or ())
    before = Asked.before(out)
    use_threads(threads)
    bench = Bench(
        elmo=Elmo.from_pretrained(model, options=options_file, device="cpu", state=state),
        model=from_everywhere(model),
        options=None if options_file is None else from_everywhere(options_file),
        data=data,
        out=out,
        budget=BUDGETS[budget],
        static=static,
        questions=tuple(ask or before.questions or QUESTIONS),
        device=device,
        cove=cove,
        cove_before=before.cove,
    )
    reproduction = Reproduction(bench, choice)
    if estimate or not quiet:
        wanted = reproduction.estimate()
        _print_missing(wanted)
        if estimate:
            _print_estimate(wanted)
            return
    try:
        written = reproduction.run(shown_training(quiet), _say_nothing if quiet else _say_begun)
    except KeyboardInterrupt:
        if not quiet:
            typer.echo(f"interrupted; {out} has what was measured, and the same command continues", err=True)
        raise
    for path in written:
        typer.echo(path.as_posix())


def _render(results: Path, out: Path) -> None:
    from polyseme.reproduce.report import render

    for path in render(results, out):
        typer.echo(path.as_posix())


def _print_missing(wanted: list[WantedPart]) -> None:
    for part in wanted:
        for reason in part.missing:
            typer.echo(f"{part.name}: skipped, {reason}", err=True)


def _print_estimate(wanted: list[WantedPart]) -> None:
    from polyseme.reproduce.reproduction import shown_time

    total = sum(part.seconds for part in wanted)
    rows = [(part.name, len(part.done), len(part.todo) + part.later, part.seconds) for part in wanted]
    all_done = frozenset[str]().union(*(part.done for part in wanted))
    rows.append(("all", len(all_done), sum(todo for _, _, todo, _ in rows), total))
    head = ["part", "done", "to do", "seconds"]
    if not on_terminal():
        print_tsv(head, rows)
        return
    table = new_table(*head[:3], "time", left=["part"])
    for name, done, todo, seconds in rows:
        table.add_row(name, str(done), str(todo), shown_time(seconds))
    print_table(table)
    typer.echo(
        "Work that parts share is listed under the first of them and counted once in the total; times are rough until "
        "something has been measured."
    )


def _say_begun(measurement: Measurement, number: int, count: int, left: float) -> None:
    from polyseme.reproduce.reproduction import shown_time

    typer.echo(f"[{number} of {count}] {measurement.title}; about {shown_time(left)} left", err=True)


def _say_nothing(measurement: Measurement, number: int, count: int, left: float) -> None:
    pass
