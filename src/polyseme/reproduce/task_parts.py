"""Tables 1 to 3 and Figures 1 and 2 as trees of task models. They overlap, and each model is trained only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polyseme.reproduce.bench import Bench
from polyseme.reproduce.measurement import Measurement, Missing, Tree
from polyseme.reproduce.task_runs import TaskRun, epoch_limit, training
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.inputs import Where

#: In the order of Table 1.
ALL_TASKS = ("squad", "snli", "srl", "coref", "ner", "sst")
#: Where ELMo enters in the paper's best models (Tables 1 and 2), from each task's `paper` preset.
PLACES: dict[str, Where] = {task: find_task(task).presets["paper"].inputs.elmo for task in ALL_TASKS}
#: Tables 2 and 3 of the paper.
ABLATED = ("squad", "snli", "srl")
#: Figure 1 of the paper.
SAMPLED = ("snli", "srl")

Grow = Callable[[str, DataFiles], dict[str, Tree]]


def table_1(bench: Bench) -> Tree:
    """Baseline and ELMo with the λ of the task's preset; on test, if there is one and the budget reads it."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        penalty = _best_penalty(task, bench.budget.preset)
        split = "test" if bench.budget.test and data.test is not None else "dev"
        return {
            "split": split,
            "elmo_at": PLACES[task],
            "baseline": _seeds(bench, TaskRun(task), data),
            "elmo": _seeds(bench, TaskRun(task, PLACES[task], penalty=penalty), data),
        }

    return _by_task(bench, ALL_TASKS, row)


def table_2(bench: Bench) -> Tree:
    """No ELMo, its last layer only, and all layers with strong and weak regularisation towards their mean; on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        elmo = TaskRun(task, PLACES[task])
        runs = {
            "baseline": TaskRun(task),
            "last": replace(elmo, layers="last"),
            "lambda_1": replace(elmo, penalty=1.0),
            "lambda_0.001": elmo,
        }
        return {"elmo_at": PLACES[task], **{name: _seeds(bench, run, data) for name, run in runs.items()}}

    return _by_task(bench, ABLATED, row)


def table_3(bench: Bench) -> Tree:
    """ELMo at the input, at both ends, at the output; on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        places: tuple[Where, ...] = ("input", "both", "output")
        return {place: _seeds(bench, TaskRun(task, place), data) for place in places}

    return _by_task(bench, ABLATED, row)


def figure_1(bench: Bench) -> Tree:
    """With and without ELMo on growing shares of the training data; on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        runs = {"baseline": TaskRun(task), "elmo": TaskRun(task, PLACES[task])}
        return {
            name: [
                {"share": share, "runs": _seeds(bench, replace(run, share=share), data)}
                for share in bench.budget.shares
            ]
            for name, run in runs.items()
        }

    return _by_task(bench, SAMPLED, row)


def figure_2(bench: Bench) -> Tree:
    """The layer weights that tasks learn, with ELMo at input and output."""
    return _by_task(bench, ALL_TASKS, lambda task, data: {"runs": _seeds(bench, TaskRun(task, "both"), data)})


def is_in_table_1(run: TaskRun, preset: str) -> bool:
    """Whether Table 1 shows this run, with any seed: only these runs are scored on a test set."""
    if run.task not in PLACES or run.share < 1:
        return False
    best = (PLACES[run.task], "all", _best_penalty(run.task, preset))
    return run.elmo == "none" or (run.elmo, run.layers, run.penalty) == best


def _best_penalty(task: str, preset: str) -> float:
    return find_task(task).presets[preset].inputs.mix_penalty


def _by_task(bench: Bench, tasks: Sequence[str], row: Grow) -> Tree:
    """A row for each task, with its metric and the epoch limit of its runs on all data; a task without data has a
    message instead."""
    rows: dict[str, Any] = {}
    for task in tasks:
        found = bench.task_data(task)
        if isinstance(found, Missing):
            rows[task] = found
        else:
            folder, data = found
            about = {"data": folder, "metric": find_task(task).metric}
            limit = epoch_limit(TaskRun(task), bench.conditions(task))
            rows[task] = {**about, "epoch_limit": limit, **row(task, data)}
    return rows


def _seeds(bench: Bench, run: TaskRun, data: DataFiles) -> list[Measurement]:
    """A run with each seed; it is the same measurement in every table, so it includes test if Table 1 shows it."""
    budget, conditions = bench.budget, bench.conditions(run.task)
    test = data.test if budget.test and is_in_table_1(run, budget.preset) else None
    seeds = budget.seeds_of(run.task, run.share)
    return [training(replace(run, seed=seed), data, conditions, test=test) for seed in seeds]
