"""Tables 1 to 3, from the figures of their task models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyseme.analysis.reproduce import paper
from polyseme.analysis.reproduce.document import PAPER, Section, Table, section_of
from polyseme.analysis.reproduce.paper import TITLES
from polyseme.analysis.reproduce.scores import (
    NONE,
    absent,
    done,
    is_better,
    mean,
    plain,
    row_of,
    scores,
    shown,
    tally,
)

Figures = Mapping[str, Any]


def table_1(figures: Figures) -> Section:
    """Baseline and ELMo, and how much of the baseline's error ELMo takes away."""
    rows, better = [], {}
    for task, theirs in paper.TABLE_1.items():
        row = row_of(figures, task)
        split = row.get("split", "dev")
        baseline, elmo = (scores(row.get(name, {}).get(split)) for name in ("baseline", "elmo"))
        better[TITLES[task]] = is_better(elmo, baseline)
        about = f"{row['metric']}, {row['data']} ({split})" if row else NONE
        rows.append([
            TITLES[task], about, shown(baseline), shown(elmo),
            *_gain(mean(baseline), mean(elmo)), _count(baseline, elmo),
            _with_spread(theirs.previous, theirs.previous_spread), _with_spread(theirs.baseline, None),
            _with_spread(theirs.elmo, theirs.spread), f"{theirs.absolute:g} / {theirs.relative:g} %",
        ])  # fmt: skip
    head = ["task", "score, data", "baseline", "+ ELMo", "gain", "less error", "seeds"]
    head += [PAPER + name for name in ("best before", "baseline", "+ ELMo", "gain / less error")]
    lead = "Task models without ELMo and with it. Less error is the share of the baseline's error that ELMo takes away."
    notes = [
        tally("ELMo is better than the baseline (in the paper for 6 of 6)", better),
        _trained_on(figures),
        _sets(figures),
        *absent(figures, TITLES),
    ]
    return section_of("Table 1: six tasks", lead, [Table(head, rows)], notes)


def table_2(figures: Figures) -> Section:
    """Which layers, and how far their weights may part."""
    columns = {"baseline": "baseline", "last": "last layer", "lambda_1": "all, λ = 1", "lambda_0.001": "all, λ = 0.001"}
    found = _found(figures, columns)
    notes = [
        tally("All layers (λ = 0.001) beat the last one (paper: 3 of 3)", _compare(found, "lambda_0.001", "last")),
        tally("Layers that may differ (λ = 0.001) beat near-even ones (λ = 1; paper: 3 of 3)",
              _compare(found, "lambda_0.001", "lambda_1")),
        tally("The last layer alone beats the baseline (paper: 3 of 3)", _compare(found, "last", "baseline")),
        *absent(figures, TITLES),
    ]  # fmt: skip
    lead = (
        "Dev scores with the last layer of the biLM, and with a learned mix of all; λ pulls the mix towards the mean."
    )
    return section_of("Table 2: which layers", lead, [_side_by_side(found, columns, paper.TABLE_2)], notes)


def table_3(figures: Figures) -> Section:
    """Where ELMo enters."""
    columns = {"input": "input", "both": "input and output", "output": "output"}
    found = _found(figures, columns)
    notes = [
        tally(
            "Input and output beat the input alone (paper: SQuAD and SNLI, not SRL)", _compare(found, "both", "input")
        ),
        tally("The input alone beats the output alone (paper: 3 of 3)", _compare(found, "input", "output")),
        *absent(figures, TITLES),
    ]
    lead = "Dev scores with ELMo joined to the task's input, to the output of its encoder, or to both."
    return section_of("Table 3: where ELMo enters", lead, [_side_by_side(found, columns, paper.TABLE_3)], notes)


def _found(figures: Figures, columns: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Scores by task and column, of the paper's tasks and of others that were run."""
    return {task: {name: scores(row_of(figures, task).get(name)) for name in columns} for task in TITLES
            if task in figures or task in paper.TABLE_2}  # fmt: skip


def _side_by_side(
    found: Mapping[str, Mapping[str, list[float]]],
    columns: Mapping[str, str],
    theirs: Mapping[str, Sequence[float]],
) -> Table:
    rows = [
        [TITLES[task], *(shown(row[name]) for name in columns), _count(*row.values()),
         *(plain(value) for value in theirs.get(task, [None] * len(columns)))]
        for task, row in found.items()
    ]  # fmt: skip
    return Table(["task", *columns.values(), "seeds", *(PAPER + title for title in columns.values())], rows)


def _compare(found: Mapping[str, Mapping[str, list[float]]], first: str, second: str) -> dict[str, Any]:
    return {TITLES[task]: is_better(row[first], row[second]) for task, row in found.items()}


def _gain(baseline: float | None, elmo: float | None) -> tuple[str, str]:
    if baseline is None or elmo is None:
        return NONE, NONE
    return f"{elmo - baseline:+.2f}", f"{100 * (elmo - baseline) / (100 - baseline):.1f} %"


def _count(*columns: Sequence[float]) -> str:
    """Of seeds; from the fewest to the most where they differ."""
    counts = {len(column) for column in columns if column}
    if not counts:
        return NONE
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)}–{max(counts)}"


def _with_spread(value: float, spread: float | None) -> str:
    digits = 1 if round(value, 1) == value else 2
    return f"{value:.{digits}f}" + (f" ± {spread:g}" if spread is not None else "")


def _sets(figures: Figures) -> str | None:
    """Whose data may be others than the paper's."""
    if not any(row_of(figures, task) for task in figures):
        return None
    return f"{paper.SETS} Scores on other sets, or on parts of these, cannot be compared with it; gains can, with care."


def _trained_on(figures: Figures) -> str | None:
    """How many examples each task had."""
    runs = {task: row_of(figures, task).get("baseline", {}).get("dev", ()) for task in TITLES}
    found = {task: run["examples"]["train"] for task, all_of_it in runs.items() for run in done(all_of_it)}
    return f"Trained on: {', '.join(f'{TITLES[task]} {count:,}' for task, count in found.items())}." if found else None
