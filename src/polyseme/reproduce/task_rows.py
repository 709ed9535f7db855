"""What Tables 1 to 3 and Figures 1 and 2 share: rows of task models, and what is said of them.

The tables overlap: a model is trained once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polyseme.reproduce import paper
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import NONE, plain, row_of, scores, shown
from polyseme.reproduce.document import PAPER, Table
from polyseme.reproduce.measurement import Awaited, Missing, Tree
from polyseme.reproduce.paper import TITLES
from polyseme.reproduce.protocol import (
    TABLE_1_SEEDS,
    TABLE_2_SEEDS,
    Arm,
    arm_trials,
    chosen,
    runs,
    trials,
    until_dev_says_stop,
)
from polyseme.reproduce.task_runs import TaskRun, epoch_limit, training
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.inputs import Where

#: In the order of Table 1.
ALL_TASKS = ("squad", "snli", "srl", "coref", "ner", "sst")
#: Where ELMo enters in the paper's best models (Tables 1 and 2): as each task's `paper` preset says.
PLACES: dict[str, Where] = {task: find_task(task).presets["paper"].inputs.elmo for task in ALL_TASKS}
#: Tables 2 and 3 of the paper.
ABLATED = ("squad", "snli", "srl")
Grow = Callable[[str, DataFiles], dict[str, Tree]]
Figures = Mapping[str, Any]


def is_in_table_1(run: TaskRun, preset: str) -> bool:
    """Whether Table 1 shows this run, whatever its seed: of all that are trained, only these meet a test set."""
    if run.task not in PLACES or run.share < 1:
        return False
    best = (PLACES[run.task], "all", best_penalty(run.task, preset))
    return run.elmo == "none" or (run.elmo, run.layers, run.penalty) == best


def best_penalty(task: str, preset: str) -> float:
    return find_task(task).presets[preset].inputs.mix_penalty


def by_task(bench: Bench, tasks: Sequence[str], row: Grow) -> Tree:
    """A row for each task, with what its scores are and when its runs on all data end at the latest; what has no data
    says so in its place."""
    rows: dict[str, Any] = {}
    for task in tasks:
        found = bench.task_data(task)
        if isinstance(found, Missing):
            rows[task] = found
        else:
            folder, data = found
            about = {"data": folder, "metric": find_task(task).metric}
            tuned = bench.budget.tuned
            limit = (
                until_dev_says_stop()["training.epochs"]
                if tuned
                else epoch_limit(TaskRun(task), bench.conditions(task))
            )
            rows[task] = {**about, "epoch_limit": limit, **row(task, data)}
    return rows


def with_seeds(bench: Bench, run: TaskRun, data: DataFiles) -> list[Tree]:
    """A run with each seed; the same measurement wherever it stands, so on test too if Table 1 shows it."""
    budget, conditions = bench.budget, bench.conditions(run.task)
    judged = is_in_table_1(run, budget.preset)
    if not budget.tuned:
        test = data.test if budget.test and judged else None
        seeds = budget.seeds_of(run.task, run.share)
        return [training(replace(run, seed=seed), data, conditions, test=test) for seed in seeds]
    tried = arm_trials(Arm(run.task, "none" if run.elmo == "none" else PLACES[run.task]), data, conditions)
    choice = chosen(tried, bench.shelf)
    made = runs(run, choice or trials()[0], data, conditions, seeds=_tuned_seeds(bench, run), judged=judged)
    return [one if choice else Awaited(tried, one) for one in made]


def _tuned_seeds(bench: Bench, run: TaskRun) -> int:
    """By the protocol: of the arms of Table 1, of the other rows of Tables 2 and 3, of what only Figure 2 shows."""
    if run.share < 1:
        return len(bench.budget.seeds_of(run.task, run.share))
    if is_in_table_1(run, bench.budget.preset):
        return TABLE_1_SEEDS
    return TABLE_2_SEEDS if run.task in ABLATED else 1


def scores_by_task(figures: Figures, columns: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Scores by task and column, of the paper's tasks."""
    return {task: {name: scores(row_of(figures, task).get(name)) for name in columns} for task in paper.TABLE_2}


def side_by_side(
    figures: Figures,
    found: Mapping[str, Mapping[str, list[float]]],
    columns: Mapping[str, str],
    theirs: Mapping[str, Sequence[float]],
) -> Table:
    rows = [
        [TITLES[task], score_and_data(figures, task), *(shown(row[name]) for name in columns),
         seed_count(*row.values()), *map(plain, theirs[task])]
        for task, row in found.items()
    ]  # fmt: skip
    return Table(
        ["task", "score, data", *columns.values(), "seeds", *(PAPER + title for title in columns.values())], rows
    )


def score_pairs(
    found: Mapping[str, Mapping[str, list[float]]], first: str, second: str
) -> dict[str, tuple[list[float], list[float]]]:
    return {TITLES[task]: (row[first], row[second]) for task, row in found.items()}


def score_and_data(figures: Figures, task: str) -> str:
    """What the scores of a row are, and on which data."""
    row = row_of(figures, task)
    return f"{row['metric']}, {row['data']}" if row else NONE


def elmo_places(figures: Figures) -> str | None:
    """Where ELMo enters, where that is not what a table is about."""
    titles = {"both": "input and output", "input": "the input", "output": "the output"}
    tasks = {place: [TITLES[task] for task in figures if row_of(figures, task).get("elmo_at") == place]
             for place in titles}  # fmt: skip
    places = [f"at {titles[place]} for {', '.join(names)}" for place, names in tasks.items() if names]
    return f"As in the paper, ELMo enters {', and '.join(places)}." if places else None


def ended_runs(figures: Figures, meaning: str = "") -> str | None:
    """How many runs ended at their limit of epochs, and how many were best in their last one; what that means."""
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
    """The results of training runs, anywhere in a row."""
    if isinstance(tree, Mapping):
        return [tree] if "best_epoch" in tree else [run for branch in tree.values() for run in _trained(branch)]
    return [run for branch in tree for run in _trained(branch)] if isinstance(tree, list) else []


def seed_count(*columns: Sequence[float]) -> str:
    """Of seeds; from the fewest to the most where they differ."""
    counts = {len(column) for column in columns if column}
    if not counts:
        return NONE
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)}–{max(counts)}"
