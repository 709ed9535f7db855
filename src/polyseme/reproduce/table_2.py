"""Table 2: which layers, and how far their weights may differ."""

from __future__ import annotations

from dataclasses import replace

from polyseme.reproduce import paper, task_rows
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import absent, compare
from polyseme.reproduce.document import Section, section_of
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import TITLES
from polyseme.reproduce.task_rows import ABLATED, PLACES, Figures
from polyseme.reproduce.task_runs import TaskRun
from polyseme.tasks.data_files import DataFiles


def rows(task: str) -> dict[str, TaskRun]:
    """No ELMo, its last layer only, and all layers with a strong and a weak pull towards their mean."""
    elmo = TaskRun(task, PLACES[task])
    return {
        "baseline": TaskRun(task),
        "last": replace(elmo, layers="last"),
        "lambda_1": replace(elmo, penalty=1.0),
        "lambda_0.001": elmo,
    }


def plan(bench: Bench) -> Tree:
    """All rows, on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        runs = {name: task_rows.with_seeds(bench, run, data) for name, run in rows(task).items()}
        return {"elmo_at": PLACES[task], **runs}

    return task_rows.by_task(bench, ABLATED, row)


def section(figures: Figures) -> Section:
    """Which layers, and how far their weights may differ."""
    columns = {"baseline": "baseline", "last": "last layer", "lambda_1": "all, λ = 1", "lambda_0.001": "all, λ = 0.001"}
    found = task_rows.scores_by_task(figures, columns)
    notes = [
        compare("All layers (λ = 0.001) beat the last layer (paper: 3 of 3)",
                task_rows.score_pairs(found, "lambda_0.001", "last")),
        compare("A free mix (λ = 0.001) beats a nearly even one (λ = 1; paper: 3 of 3)",
                task_rows.score_pairs(found, "lambda_0.001", "lambda_1")),
        compare("The last layer alone beats the baseline (paper: 3 of 3)",
                task_rows.score_pairs(found, "last", "baseline")),
        task_rows.elmo_places(figures),
        task_rows.ended_runs(figures),
        *absent(figures, TITLES),
    ]  # fmt: skip
    lead = (
        "Dev scores with the last layer of the biLM, and with a learned mix of all layers; λ pulls the mix to the mean."
    )
    return section_of(
        "Table 2: which layers", lead, [task_rows.side_by_side(figures, found, columns, paper.TABLE_2)], notes
    )
