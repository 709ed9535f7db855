"""Table 3: where ELMo enters."""

from __future__ import annotations

from polyseme.reproduce import paper, task_rows
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import absent, compare
from polyseme.reproduce.document import Section, section_of
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import TITLES
from polyseme.reproduce.task_rows import ABLATED, Figures
from polyseme.reproduce.task_runs import TaskRun
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.inputs import Where


def rows(task: str) -> dict[str, TaskRun]:
    """ELMo at the input, at both ends, at the output."""
    places: tuple[Where, ...] = ("input", "both", "output")
    return {place: TaskRun(task, place) for place in places}


def plan(bench: Bench) -> Tree:
    """All rows, on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        return {name: task_rows.with_seeds(bench, run, data) for name, run in rows(task).items()}

    return task_rows.by_task(bench, ABLATED, row)


def section(figures: Figures) -> Section:
    """Where ELMo enters."""
    columns = {"input": "input", "both": "input and output", "output": "output"}
    found = task_rows.scores_by_task(figures, columns)
    notes = [
        compare(
            "Input and output beat the input alone (paper: SQuAD and SNLI, not SRL)",
            task_rows.score_pairs(found, "both", "input"),
        ),
        compare(
            "The input alone beats the output alone (paper: 3 of 3)", task_rows.score_pairs(found, "input", "output")
        ),
        task_rows.ended_runs(figures),
        *absent(figures, TITLES),
    ]
    lead = "Dev scores with ELMo added to the task's input, to the output of its encoder, or to both."
    return section_of(
        "Table 3: where ELMo enters", lead, [task_rows.side_by_side(figures, found, columns, paper.TABLE_3)], notes
    )
