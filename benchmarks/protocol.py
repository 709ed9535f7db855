"""The whole table of tasks by one protocol for both arms (polyseme.reproduce.protocol, docs/tasks.md): one command.

    python benchmarks/protocol.py --estimate               what is left to do, and about how long it takes
    python benchmarks/protocol.py                          everything that is not there yet; stopped, it goes on
    python benchmarks/protocol.py --task ner --task pos    some tasks

For each task: the trials of both arms on dev, the best of each, three seeds of both on dev and test (Table 1), the rows
of Tables 2 and 3 on dev, and one run with the biLM fine-tuned on the task's own training text. Trials and runs are kept
in report/results as `polyseme reproduce` keeps them; rows go to results/tasks.json and to docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import tasks as rows_of_tasks
from polyseme.elmo import Elmo
from polyseme.reproduce.adapted import adapt_bilm
from polyseme.reproduce.budgets import CPU
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Measurement, Missing, Shelf
from polyseme.reproduce.pace import shown_time
from polyseme.reproduce.protocol import (
    TABLE_1_SEEDS,
    TABLE_2_SEEDS,
    Arm,
    Choice,
    best,
    runs,
    significance,
    trial,
    trials,
)
from polyseme.reproduce.task_parts import ABLATED, ALL_TASKS, PLACES
from polyseme.reproduce.task_runs import Conditions, TaskRun
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.inputs import Where
from polyseme.tasks.registry import find_task
from polyseme.tasks.training import TaskWatch
from polyseme.tasks.vectors.static import PACKAGE
from shared_data import DATA

#: Parts of speech are no part of the paper's Table 1; they are measured in the same way.
TASKS = (*ALL_TASKS, "pos")
SECONDS = {**CPU.seconds, "pos": 300.0}
PASSES = 3  #: over a task's training text, of the biLM that is fine-tuned on it


def place_of(task: str) -> Where:
    return PLACES.get(task) or find_task(task).presets["paper"].inputs.elmo


def other_rows(task: str) -> Iterator[TaskRun]:
    """Rows of Tables 2 and 3 that are not an arm of Table 1."""
    if task not in ABLATED:
        return
    elmo = TaskRun(task, place_of(task))
    yield replace(elmo, layers="last")
    yield replace(elmo, penalty=1.0)
    for where in ("input", "output", "both"):
        if where != elmo.elmo:
            yield replace(elmo, elmo=where)


class Protocol:
    """A shelf of results, the conditions of all runs, and what they give."""

    def __init__(self, chosen: argparse.Namespace, elmo: Elmo | None) -> None:
        self.chosen, self.elmo = chosen, elmo
        self.shelf = Shelf(chosen.work / "results")

    def conditions(self, task: str) -> Conditions:
        changes = {"static": PACKAGE}
        return Conditions(self.chosen.work, self.elmo, self.chosen.model, "cpu", changes, seconds=SECONDS[task])

    def trials(self, task: str, data: DataFiles) -> dict[Where, list[Measurement]]:
        arms = [Arm(task, "none"), Arm(task, place_of(task))]
        return {arm.where: [trial(arm, choice, data, self.conditions(task)) for choice in trials()] for arm in arms}

    def chosen_of(self, tried: list[Measurement]) -> Choice:
        """The best trial of an arm, made now where it has not been made."""
        scores = [self.shelf.take(one, watch(one.title))["score"] for one in tried]
        return best(trials(), scores)

    def take(self, run: TaskRun, choice: Choice, data: DataFiles, seeds: int, *, judged: bool) -> list[dict[str, Any]]:
        made = runs(run, choice, data, self.conditions(run.task), seeds=seeds, judged=judged)
        return [self.shelf.take(one, watch(one.title)) for one in made]

    def measure(self, task: str, folder: str, data: DataFiles) -> None:
        """All rows of a task."""
        tried = self.trials(task, data)
        choices = {where: self.chosen_of(one) for where, one in tried.items()}
        place = place_of(task)
        base = self.take(TaskRun(task), choices["none"], data, TABLE_1_SEEDS, judged=True)
        ours = self.take(TaskRun(task, place), choices[place], data, TABLE_1_SEEDS, judged=True)
        p = significance(task, base, ours)
        self.keep(TaskRun(task), choices["none"], folder, data, base, None)
        self.keep(TaskRun(task, place), choices[place], folder, data, ours, p)
        for run in other_rows(task):
            found = self.take(run, choices[place], data, TABLE_2_SEEDS, judged=False)
            self.keep(run, choices[place], folder, data, found, None)
        self.adapt(task, place, choices[place], folder, data)

    def adapt(self, task: str, place: Where, choice: Choice, folder: str, data: DataFiles) -> None:
        """The same run with the biLM fine-tuned on the task's training text."""
        done = adapt_bilm(
            task, data, self.chosen.model, self.chosen.work / "adapted" / task, passes=PASSES, said=rows_of_tasks.say
        )
        elmo = Elmo.from_pretrained(str(done.model), device="cpu", lang=self.elmo.lang if self.elmo else "en")
        conditions = replace(self.conditions(task), elmo=elmo, model=str(done.model))
        run = TaskRun(task, place)
        made = runs(run, choice, data, conditions, seeds=1)
        found = [self.shelf.take(one, watch(one.title)) for one in made]
        perplexity = {"before": round(done.before, 1), "after": round(done.after, 1)}
        self.keep(run, choice, folder, data, found, None, {"finetuned": perplexity})

    def keep(
        self,
        run: TaskRun,
        choice: Choice,
        folder: str,
        data: DataFiles,
        found: list[dict[str, Any]],
        p: float | None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """A row for dev and one for test, of the same runs."""
        judged = {
            "dev": found,
            **({"test": [one["test"] for one in found]} if "test" in found[0] and data.test else {}),
        }
        for split, results in judged.items():
            scores = [result["score"] for result in results]
            row = {
                **row_of(run, folder, split, self.chosen.model, more),
                "scores": [round(score, 2) for score in scores],
                "mean": round(statistics.fmean(scores), 2),
                "std": round(statistics.stdev(scores), 2) if len(scores) > 1 else None,
                **rows_of_tasks.weights_of(self.elmo, run.elmo),
                "vectors": PACKAGE,
                "trained_vectors": choice["inputs.word_vectors"] == "trained",
                "choice": dict(choice),
                "tuning_trials": len(trials()),
                "epochs_run": [one["epochs"] for one in found],
                "stopped_by": [one["stopped_by"] for one in found],
                "p": round(p, 4) if p is not None and split == ("test" if data.test else "dev") else None,
                **(more or {}),
            }
            rows_of_tasks.keep_row(row)
            rows_of_tasks.say(json.dumps(row, ensure_ascii=False))

    def left(self, task: str, data: DataFiles) -> list[Measurement]:
        """What is still to be made; the runs are counted by the first trial's choice until the trials are there."""
        tried = self.trials(task, data)
        first, place = trials()[0], place_of(task)
        wanted = [one for arm in tried.values() for one in arm]
        choices = {}
        for where, arm in tried.items():
            records = [self.shelf.record(one) for one in arm]
            known = [record["result"]["score"] for record in records if record is not None]
            choices[where] = best(trials(), known) if len(known) == len(arm) else first
        rows = [(TaskRun(task), choices["none"], TABLE_1_SEEDS), (TaskRun(task, place), choices[place], TABLE_1_SEEDS)]
        rows += [(run, choices[place], TABLE_2_SEEDS) for run in other_rows(task)]
        for number, (run, choice, seeds) in enumerate(rows):
            wanted += runs(run, choice, data, self.conditions(task), seeds=seeds, judged=number < len(choices))
        return [one for one in wanted if self.shelf.record(one) is None]


def row_of(run: TaskRun, folder: str, split: str, model: str, more: Mapping[str, Any] | None) -> dict[str, Any]:
    with_elmo = run.elmo != "none"
    return {
        "task": run.task,
        "elmo": run.elmo,
        "layers": run.layers if with_elmo else None,
        "lambda": run.penalty if with_elmo else None,
        "model": (f"{model}, fine-tuned" if more else model) if with_elmo else None,
        "budget": "cpu, tuned",
        "data": folder,
        "split": split,
        "metric": find_task(run.task).metric,
    }


def watch(title: str) -> TaskWatch:
    return TaskWatch(
        said=rows_of_tasks.say, looked=lambda progress, _: rows_of_tasks.say(f"{title} {progress.history[-1]}")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, action="append", help="only these; may be given several times")
    parser.add_argument("--model", default="en")
    parser.add_argument("--work", type=Path, default=rows_of_tasks.REPORT, help="folder of results and runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--estimate", action="store_true", help="only say what is left to do")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    protocol = Protocol(chosen, Elmo.from_pretrained(chosen.model, device="cpu"))
    found = {}
    for task in chosen.task or TASKS:
        place = find_task_data(DATA, task)
        if isinstance(place, Missing):
            rows_of_tasks.say(f"{task}: {place.reason}")
        else:
            found[task] = place
    total = 0.0
    for task, (_, data) in found.items():
        left = protocol.left(task, data)
        seconds = sum(one.seconds for one in left)
        total += seconds
        rows_of_tasks.say(f"{task}: {len(left)} trainings, about {shown_time(seconds)}")
    rows_of_tasks.say(f"all: about {shown_time(total)} on two cores")
    if chosen.estimate:
        return
    for task, (folder, data) in found.items():
        protocol.measure(task, folder, data)
        rows_of_tasks.write_page()


if __name__ == "__main__":
    main()
