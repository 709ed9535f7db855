"""Tables 1 to 3 and Figures 1 and 2 as trees of task models. They overlap: a model is trained once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polyseme.reproduce.bench import Bench
from polyseme.reproduce.measurement import Awaited, Missing, Tree
from polyseme.reproduce.protocol import (
    TABLE_1_SEEDS,
    TABLE_2_SEEDS,
    Arm,
    Choice,
    arm_trials,
    chosen,
    runs,
    significance,
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
#: Figure 1 of the paper.
SAMPLED = ("snli", "srl")

Grow = Callable[[str, DataFiles], dict[str, Tree]]


def table_1(bench: Bench) -> Tree:
    """Baseline and ELMo with the λ of the task's preset; on test where the budget reads it and there is one."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        elmo = TaskRun(task, PLACES[task], penalty=_best_penalty(task, bench.budget.preset))
        split = "test" if bench.budget.test and data.test is not None else "dev"
        arms = {"baseline": _seeds(bench, TaskRun(task), data), "elmo": _seeds(bench, elmo, data)}
        tuned = _tuned(bench, task, data, arms) if bench.budget.tuned else {}
        return {"split": split, "elmo_at": PLACES[task], **arms, **tuned}

    return _by_task(bench, ALL_TASKS, row)


def table_2(bench: Bench) -> Tree:
    """No ELMo, its last layer only, and all layers with a strong and a weak pull towards their mean; on dev."""

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
    """The weights of the layers that a task learns, with ELMo at both ends."""
    return _by_task(bench, ALL_TASKS, lambda task, data: {"runs": _seeds(bench, TaskRun(task, "both"), data)})


def is_in_table_1(run: TaskRun, preset: str) -> bool:
    """Whether Table 1 shows this run, whatever its seed: of all that are trained, only these meet a test set."""
    if run.task not in PLACES or run.share < 1:
        return False
    best = (PLACES[run.task], "all", _best_penalty(run.task, preset))
    return run.elmo == "none" or (run.elmo, run.layers, run.penalty) == best


def _best_penalty(task: str, preset: str) -> float:
    return find_task(task).presets[preset].inputs.mix_penalty


def _by_task(bench: Bench, tasks: Sequence[str], row: Grow) -> Tree:
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


def _seeds(bench: Bench, run: TaskRun, data: DataFiles) -> list[Tree]:
    """A run with each seed; the same measurement wherever it stands, so on test too if Table 1 shows it."""
    budget, conditions = bench.budget, bench.conditions(run.task)
    judged = is_in_table_1(run, budget.preset)
    if not budget.tuned:
        test = data.test if budget.test and judged else None
        seeds = budget.seeds_of(run.task, run.share)
        return [training(replace(run, seed=seed), data, conditions, test=test) for seed in seeds]
    tried = arm_trials(arm_of(run), data, conditions)
    choice = chosen(tried, bench.shelf)
    made = runs(run, choice or trials()[0], data, conditions, seeds=_tuned_seeds(bench, run), judged=judged)
    return [one if choice else Awaited(tried, one) for one in made]


def arm_of(run: TaskRun) -> Arm:
    """The arm whose choice a run is made with."""
    return Arm(run.task, "none" if run.elmo == "none" else PLACES[run.task])


def _tuned_seeds(bench: Bench, run: TaskRun) -> int:
    if run.share < 1:
        return len(bench.budget.seeds_of(run.task, run.share))
    if is_in_table_1(run, bench.budget.preset):
        return TABLE_1_SEEDS
    return TABLE_2_SEEDS if run.task in ABLATED else 1


def _tuned(bench: Bench, task: str, data: DataFiles, arms: dict[str, list[Tree]]) -> dict[str, Any]:
    """What each arm has chosen of how many trials, and p; None where trials or runs are not measured yet."""
    conditions, shelf = bench.conditions(task), bench.shelf
    places: dict[str, Where] = {"baseline": "none", "elmo": PLACES[task]}
    choices: dict[str, Choice | None] = {
        name: chosen(arm_trials(Arm(task, where), data, conditions), shelf) for name, where in places.items()
    }
    results = {name: shelf.filled(made) for name, made in arms.items()}
    complete = all(run and "test" in run for found in results.values() for run in found)
    p = significance(task, results["baseline"], results["elmo"]) if complete else None
    return {"trials": len(trials()), "choices": choices, "p": p}
