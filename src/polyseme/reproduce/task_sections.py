"""The sections on Tables 1 to 3, from the figures of their task models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyseme.reproduce import paper
from polyseme.reproduce.comparison import (
    NONE,
    absent,
    compare,
    done,
    mean,
    plain,
    row_of,
    scores,
    shown,
)
from polyseme.reproduce.document import PAPER, Section, Table, section_of
from polyseme.reproduce.paper import EXAMPLES, TITLES

Figures = Mapping[str, Any]

STILL_LEARNING = (
    "A network that is best in its last epoch may still be improving, so the gains partly measure how fast a model "
    "learns, not only how good it gets."
)


def table_1(figures: Figures) -> Section:
    """Baseline and ELMo, and how much of the baseline's error ELMo removes."""
    rows, pairs = [], {}
    for task, theirs in paper.TABLE_1.items():
        row = row_of(figures, task)
        split = row.get("split", "dev")
        baseline, elmo = (scores(row.get(name), split) for name in ("baseline", "elmo"))
        pairs[TITLES[task]] = (elmo, baseline)
        about = f"{_about(figures, task)} ({split})" if row else NONE
        rows.append([
            TITLES[task], about, shown(baseline), shown(elmo),
            *_gain(mean(baseline), mean(elmo)), _count(baseline, elmo),
            _with_spread(theirs.previous, theirs.previous_spread), _with_spread(theirs.baseline, None),
            _with_spread(theirs.elmo, theirs.spread), f"{theirs.absolute:g} / {theirs.relative:g} %",
        ])  # fmt: skip
    head = ["task", "score, data", "baseline", "+ ELMo", "gain", "less error", "seeds"]
    head += [PAPER + name for name in ("best before", "baseline", "+ ELMo", "gain / less error")]
    lead = "Task models without ELMo and with it. Less error is the share of the baseline's errors that ELMo removes."
    notes = [
        compare("ELMo is better than the baseline (paper: 6 of 6)", pairs),
        _elmo_at(figures),
        _ended(figures, STILL_LEARNING),
        _trained_on(figures),
        _sets(figures),
        *absent(figures, TITLES),
    ]
    return section_of("Table 1: six tasks", lead, [Table(head, rows)], notes)


def table_2(figures: Figures) -> Section:
    """Which layers are used, and how freely they are weighted."""
    columns = {"baseline": "baseline", "last": "last layer", "lambda_1": "all, λ = 1", "lambda_0.001": "all, λ = 0.001"}
    found = _found(figures, columns)
    notes = [
        compare("All layers (λ = 0.001) beat the last layer (paper: 3 of 3)", _pairs(found, "lambda_0.001", "last")),
        compare("A free mix (λ = 0.001) beats a nearly even one (λ = 1; paper: 3 of 3)",
                _pairs(found, "lambda_0.001", "lambda_1")),
        compare("The last layer alone beats the baseline (paper: 3 of 3)", _pairs(found, "last", "baseline")),
        _elmo_at(figures),
        _ended(figures),
        *absent(figures, TITLES),
    ]  # fmt: skip
    lead = (
        "Dev scores with the last layer of the biLM, and with a learned mix of all layers; λ pulls the mix to the mean."
    )
    return section_of("Table 2: which layers", lead, [_side_by_side(figures, found, columns, paper.TABLE_2)], notes)


def table_3(figures: Figures) -> Section:
    """Where ELMo enters."""
    columns = {"input": "input", "both": "input and output", "output": "output"}
    found = _found(figures, columns)
    notes = [
        compare(
            "Input and output beat the input alone (paper: SQuAD and SNLI, not SRL)", _pairs(found, "both", "input")
        ),
        compare("The input alone beats the output alone (paper: 3 of 3)", _pairs(found, "input", "output")),
        _ended(figures),
        *absent(figures, TITLES),
    ]
    lead = "Dev scores with ELMo added to the task's input, to the output of its encoder, or to both."
    return section_of(
        "Table 3: where ELMo enters", lead, [_side_by_side(figures, found, columns, paper.TABLE_3)], notes
    )


def _found(figures: Figures, columns: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Scores by task and column, for the paper's tasks."""
    return {task: {name: scores(row_of(figures, task).get(name)) for name in columns} for task in paper.TABLE_2}


def _side_by_side(
    figures: Figures,
    found: Mapping[str, Mapping[str, list[float]]],
    columns: Mapping[str, str],
    theirs: Mapping[str, Sequence[float]],
) -> Table:
    rows = [
        [TITLES[task], _about(figures, task), *(shown(row[name]) for name in columns), _count(*row.values()),
         *map(plain, theirs[task])]
        for task, row in found.items()
    ]  # fmt: skip
    return Table(
        ["task", "score, data", *columns.values(), "seeds", *(PAPER + title for title in columns.values())], rows
    )


def _pairs(
    found: Mapping[str, Mapping[str, list[float]]], first: str, second: str
) -> dict[str, tuple[list[float], list[float]]]:
    return {TITLES[task]: (row[first], row[second]) for task, row in found.items()}


def _about(figures: Figures, task: str) -> str:
    """The metric of a row, and its data."""
    row = row_of(figures, task)
    return f"{row['metric']}, {row['data']}" if row else NONE


def _elmo_at(figures: Figures) -> str | None:
    """A note on where ELMo enters, for tables that do not compare this."""
    titles = {"both": "input and output", "input": "the input", "output": "the output"}
    tasks = {place: [TITLES[task] for task in figures if row_of(figures, task).get("elmo_at") == place]
             for place in titles}  # fmt: skip
    places = [f"at {titles[place]} for {', '.join(names)}" for place, names in tasks.items() if names]
    return f"As in the paper, ELMo enters {', and '.join(places)}." if places else None


def _ended(figures: Figures, meaning: str = "") -> str | None:
    """How many runs ended at their epoch limit, how many were best in their last epoch, and what that means."""
    runs = [(run, row["epoch_limit"]) for task in figures if "epoch_limit" in (row := row_of(figures, task))
            for run in _trained(row)]  # fmt: skip
    if not runs:
        return None
    at_limit = sum(run["epochs"] >= limit for run, limit in runs)
    best_last = sum(run["epochs"] == run["best_epoch"] for run, _ in runs)
    said = (
        f"Of {len(runs)} training runs, {at_limit} ended at their limit of epochs; {best_last or 'none'} had the best "
        "dev score in the last epoch."
    )
    return f"{said} {meaning}" if meaning and best_last else said


def _trained(tree: Any) -> list[Mapping[str, Any]]:
    """All results of training runs in a row."""
    if isinstance(tree, Mapping):
        return [tree] if "best_epoch" in tree else [run for branch in tree.values() for run in _trained(branch)]
    return [run for branch in tree for run in _trained(branch)] if isinstance(tree, list) else []


def _gain(baseline: float | None, elmo: float | None) -> tuple[str, str]:
    if baseline is None or elmo is None:
        return NONE, NONE
    less = f"{100 * (elmo - baseline) / (100 - baseline):.1f} %" if baseline < 100 else NONE
    return f"{elmo - baseline:+.2f}", less


def _count(*columns: Sequence[float]) -> str:
    """The number of seeds; the fewest to the most if columns differ."""
    counts = {len(column) for column in columns if column}
    if not counts:
        return NONE
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)}–{max(counts)}"


def _with_spread(value: float, spread: float | None) -> str:
    digits = _digits(value)
    return f"{value:.{digits}f}" + (f" ± {spread:.{max(digits, _digits(spread))}f}" if spread is not None else "")


def _digits(value: float) -> int:
    """The number of decimals, as the paper writes it."""
    return 1 if round(value, 1) == value else 2


def _sets(figures: Figures) -> str | None:
    """A note on data sets that may differ from the paper's."""
    if not any(row_of(figures, task) for task in figures):
        return None
    return f"{paper.SETS} Scores on other sets, or on parts of these, cannot be compared; gains can, with care."


def _trained_on(figures: Figures) -> str | None:
    """How many examples each task had, with those of the paper's data set if known."""
    runs = {task: row_of(figures, task).get("baseline") for task in TITLES}
    found = {task: run["examples"]["train"] for task, all_of_it in runs.items() for run in done(all_of_it)}
    theirs = {task: f" (in the paper {count:,})" for task, count in paper.TRAINED_ON.items()}
    shown_counts = ", ".join(
        f"{TITLES[task]} {count:,} {EXAMPLES[task]}{theirs.get(task, '')}" for task, count in found.items()
    )
    return f"Trained on: {shown_counts}." if found else None
