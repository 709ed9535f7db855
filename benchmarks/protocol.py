"""The whole table of tasks in one command, by one protocol for both arms (polyseme.reproduce.protocol, docs/tasks.md).

    python benchmarks/protocol.py --estimate               what is left to do, and about how long it takes
    python benchmarks/protocol.py --threads 1              everything that is missing; run it again to resume
    python benchmarks/protocol.py --task ner --task pos    some tasks
    python benchmarks/protocol.py --baselines              only the runs that need no biLM, while one is being trained

If started twice, the two processes share the work: each takes what the other has not begun. This is the best way to use
two cores, because a network of this size gains little from a second thread.

For each task: the trials of both arms on dev, the best of each, three seeds of both on dev and test (Table 1), the rows
of Tables 2 and 3 on dev, and one run with the biLM fine-tuned on the task's own training text. Trials and runs are kept
in report/results as `polyseme reproduce` keeps them; rows go to results/tasks.json and to docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import tasks as rows_of_tasks
from polyseme.elmo import Elmo
from polyseme.errors import JobError
from polyseme.jobs.atomic import exclusive, in_turn
from polyseme.reproduce import table_2, table_3
from polyseme.reproduce.adapted import Adapted, adapt_bilm
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Measurement, Missing, Result, Shelf
from polyseme.reproduce.protocol import (
    SHARES,
    TABLE_1_SEEDS,
    TABLE_2_SEEDS,
    Arm,
    Choice,
    arm_trials,
    chosen,
    runs,
    significance,
    trials,
)
from polyseme.reproduce.reproduction import shown_time
from polyseme.reproduce.task_rows import ABLATED, ALL_TASKS, PLACES
from polyseme.reproduce.task_runs import Conditions, TaskRun
from polyseme.settings import read_changes
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.inputs import Where
from polyseme.tasks.training import TaskWatch
from polyseme.tasks.vectors.static import PACKAGE, named_vectors
from shared_data import DATA

#: Parts of speech are not in the paper's Table 1, but are measured in the same way.
TASKS = (*ALL_TASKS, "pos")
PASSES = 3  #: passes over a task's training text to fine-tune the biLM
WAIT_SECONDS = 20.0  #: before looking again for a measurement that another process makes
BUDGET, EARLIER_BUDGET = "cpu, tuned", "cpu"  #: names for rows by this protocol, and for earlier rows

#: Steps per epoch on all available training data.
STEPS = {"ner": 392, "pos": 392, "sst": 933, "snli": 286, "srl": 522, "squad": 1_809, "coref": 282}
#: Guessed epochs until early stopping: in earlier, shorter runs the last epoch was mostly the best, and 5 more follow.
EPOCHS = {"ner": 22, "pos": 18, "sst": 10, "snli": 15, "srl": 15, "squad": 11, "coref": 20}
LOOK = 1.2  #: the time of an epoch with evaluation on dev, relative to its steps


@dataclass(frozen=True)
class Row:
    """A row of the table: its runs, the choice for them, and whether the test set is read."""

    run: TaskRun
    choice: Choice
    seeds: int
    judged: bool = False


def place_of(task: str) -> Where:
    return PLACES.get(task) or find_task(task).presets["paper"].inputs.elmo


def other_runs(task: str) -> list[TaskRun]:
    """Rows of Tables 2 and 3 that are not an arm of Table 1."""
    if task not in ABLATED:
        return []
    shown = dict.fromkeys([*table_2.rows(task).values(), *table_3.rows(task).values()])
    return [run for run in shown if run not in (TaskRun(task), TaskRun(task, place_of(task)))]


def seconds_of_a_run(task: str, cost: Path) -> float:
    """Expected seconds, from the steps timed by epoch_cost.py (mean of both arms); some minutes if not timed."""
    rows = json.loads(cost.read_text(encoding="utf-8")) if cost.exists() else []
    timed = [
        row["seconds"] for row in rows if (row["task"], row["budget"]) == (task, "cpu") and row["of"] != "an epoch"
    ]
    if not timed:
        return 600.0
    arms = [statistics.median(timed[0][where]) for where in ("none", "both" if place_of(task) == "both" else "input")]
    return statistics.fmean(arms) * STEPS[task] * SHARES.get(task, 1.0) * EPOCHS[task] * LOOK


class Protocol:
    """A shelf of results, the conditions of all runs, and the rows made from them."""

    def __init__(self, chosen: argparse.Namespace, elmo: Elmo) -> None:
        self.chosen, self.elmo = chosen, elmo
        self.shelf = Shelf(chosen.work / "results")

    def conditions(self, task: str) -> Conditions:
        preset = find_task(task).presets["cpu"]
        changes = {"static": self.chosen.vectors, **read_changes(preset, self.chosen.changes, f"the task {task}")}
        seconds = seconds_of_a_run(task, rows_of_tasks.HERE / "results" / "epoch_cost.json")
        return Conditions(self.chosen.work, self.elmo, self.chosen.model, "cpu", changes, seconds=seconds)

    def trials(self, task: str, data: DataFiles) -> dict[Where, list[Measurement]]:
        arms = [Arm(task, "none"), Arm(task, place_of(task))]
        return {arm.where: arm_trials(arm, data, self.conditions(task)) for arm in arms}

    def choices(self, task: str, data: DataFiles) -> dict[Where, Choice]:
        """The best trial of each arm; the first until all are made."""
        return {where: chosen(tried, self.shelf) or trials()[0] for where, tried in self.trials(task, data).items()}

    def rows(self, task: str, data: DataFiles) -> list[Row]:
        """Both arms of Table 1, the baseline first, then the rows of Tables 2 and 3."""
        choices, place = self.choices(task, data), place_of(task)
        return [
            Row(TaskRun(task), choices["none"], TABLE_1_SEEDS, judged=True),
            Row(TaskRun(task, place), choices[place], TABLE_1_SEEDS, judged=True),
            *(Row(run, choices[place], TABLE_2_SEEDS) for run in other_runs(task)),
        ]

    def made_of(self, row: Row, data: DataFiles) -> list[Measurement]:
        task = row.run.task
        return list(runs(row.run, row.choice, data, self.conditions(task), seeds=row.seeds, judged=row.judged))

    def take_all(self, wanted: Sequence[Measurement]) -> None:
        """Measure what is missing; measurements of another process are left to it, and waited for at the end."""
        waiting = [one for one in wanted if self.shelf.record(one) is None]
        while waiting:
            for one in waiting:
                self.try_to_take(one)
            waiting = [one for one in waiting if self.shelf.record(one) is None]
            if waiting:
                time.sleep(WAIT_SECONDS)

    def try_to_take(self, one: Measurement) -> None:
        """Make one measurement, unless another process is making it."""
        self.shelf.folder.mkdir(parents=True, exist_ok=True)
        busy = f"another process measures {one.title}"
        try:
            with exclusive(self.shelf.folder / f"{one.file_name}.lock", busy):
                self.shelf.take(one, watch(one.title))
        except JobError as error:
            if str(error) != busy:
                raise

    def results(self, wanted: Sequence[Measurement]) -> list[Result]:
        """The results of finished measurements."""
        return [self.shelf.take(one, watch(one.title)) for one in wanted]

    def report(self, task: str, folder: str, data: DataFiles) -> None:
        """The rows of a task whose runs are finished."""
        found = [(row, self.results(self.made_of(row, data))) for row in self.rows(task, data)]
        base, ours, *others = found
        p = significance(task, base[1], ours[1])
        self.keep(*base, folder, data, None)
        self.keep(*ours, folder, data, p)
        for row, results in others:
            self.keep(row, results, folder, data, None)
        rows_of_tasks.drop_rows(task, EARLIER_BUDGET)

    def adapted(self, task: str, data: DataFiles) -> tuple[Adapted, list[Measurement]]:
        """The biLM fine-tuned on the task's training text, and the run of the ELMo arm with it."""
        work = self.chosen.work / "adapted"
        work.mkdir(parents=True, exist_ok=True)
        with in_turn(work / f"{task}.lock"):
            done = adapt_bilm(task, data, self.chosen.model, work / task, passes=PASSES, said=rows_of_tasks.say)
        elmo = Elmo.from_pretrained(str(done.model), device="cpu", lang=self.elmo.lang)
        conditions = replace(self.conditions(task), elmo=elmo, model=str(done.model))
        row = self.rows(task, data)[1]
        return done, list(runs(row.run, row.choice, data, conditions, seeds=1))

    def report_adapted(self, task: str, folder: str, data: DataFiles) -> None:
        done, made = self.adapted(task, data)
        perplexity = {"before": round(done.before, 1), "after": round(done.after, 1)}
        row = self.rows(task, data)[1]
        self.keep(row, self.results(made), folder, data, None, {"finetuned": perplexity})

    def keep(
        self,
        row: Row,
        found: list[dict[str, Any]],
        folder: str,
        data: DataFiles,
        p: float | None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """A line for dev and one for test, of the same runs."""
        judged = {
            "dev": found,
            **({"test": [one["test"] for one in found]} if "test" in found[0] and data.test else {}),
        }
        for split, results in judged.items():
            scores = [result["score"] for result in results]
            model = f"{self.chosen.model}, fine-tuned" if more else self.chosen.model
            line = {
                **rows_of_tasks.described(row.run, model, BUDGET, folder, split),
                "scores": [round(score, 2) for score in scores],
                "mean": round(statistics.fmean(scores), 2),
                "std": round(statistics.stdev(scores), 2) if len(scores) > 1 else None,
                **rows_of_tasks.weights_of(self.elmo, row.run.elmo),
                "vectors": self.chosen.vectors,
                "trained_vectors": row.choice["inputs.word_vectors"] == "trained",
                "choice": dict(row.choice),
                "share": SHARES.get(row.run.task, 1.0),
                "tuning_trials": len(trials()),
                "epochs_run": [one["epochs"] for one in found],
                "stopped_by": [one["stopped_by"] for one in found],
                "p": round(p, 4) if p is not None and split == ("test" if data.test else "dev") else None,
                **(more or {}),
            }
            rows_of_tasks.keep_row(line)
            rows_of_tasks.say(json.dumps(line, ensure_ascii=False))

    def left(self, task: str, data: DataFiles) -> list[Measurement]:
        """What is still to be done; until the trials are finished, runs are counted with the first trial's choice.

        The run with a fine-tuned biLM is counted as one of the ELMo arm, which takes about as long.
        """
        rows = self.rows(task, data)
        wanted = [one for arm in self.trials(task, data).values() for one in arm]
        wanted += [one for row in rows for one in self.made_of(row, data)]
        left = [one for one in wanted if self.shelf.record(one) is None]
        return left + ([] if (self.chosen.work / "adapted" / task).exists() else self.made_of(rows[1], data)[:1])


def watch(title: str) -> TaskWatch:
    return TaskWatch(
        said=rows_of_tasks.say, looked=lambda progress, _: rows_of_tasks.say(f"{title} {progress.history[-1]}")
    )


def run_all(protocol: Protocol, found: Mapping[str, tuple[str, DataFiles]]) -> None:
    """All trials, then the runs and rows of each task; two processes wait for each other at the end of a task."""
    protocol.take_all(
        [one for task, (_, data) in found.items() for arm in protocol.trials(task, data).values() for one in arm]
    )
    for task, (folder, data) in found.items():
        protocol.take_all([one for row in protocol.rows(task, data) for one in protocol.made_of(row, data)])
        protocol.report(task, folder, data)
        protocol.take_all(protocol.adapted(task, data)[1])
        protocol.report_adapted(task, folder, data)
        rows_of_tasks.write_page()


def run_baselines(protocol: Protocol, found: Mapping[str, tuple[str, DataFiles]]) -> None:
    """Trials and runs of the first arm; tables are written once the second arm is finished too."""
    for task, (_, data) in found.items():
        protocol.take_all(protocol.trials(task, data)["none"])
        protocol.take_all(protocol.made_of(protocol.rows(task, data)[0], data))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, action="append", help="only this task; may be repeated")
    parser.add_argument("--model", default="en")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the data sets")
    parser.add_argument(
        "--vectors", type=named_vectors, default=PACKAGE, help="word vectors for both arms", metavar="FILE"
    )
    parser.add_argument("--set", dest="changes", action="append", default=[], help="for all runs", metavar="NAME=VALUE")
    parser.add_argument("--work", type=Path, default=rows_of_tasks.REPORT, help="folder for results and runs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--baselines", action="store_true", help="only the runs that need no biLM")
    parser.add_argument("--estimate", action="store_true", help="only print what is left to do")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    protocol = Protocol(chosen, Elmo.from_pretrained(chosen.model, device="cpu"))
    found = {}
    for task in chosen.task or TASKS:
        place = find_task_data(chosen.data, task)
        if isinstance(place, Missing):
            rows_of_tasks.say(f"{task}: {place.reason}")
        else:
            found[task] = place
    total = 0.0
    for task, (_, data) in found.items():
        left = protocol.left(task, data)
        seconds = sum(one.seconds for one in left)
        total += seconds
        rows_of_tasks.say(f"{task}: {len(left)} training{'s' if len(left) != 1 else ''}, about {shown_time(seconds)}")
    rows_of_tasks.say(f"all: about {shown_time(total)} of one core, {shown_time(total / 2)} of two")
    if not chosen.estimate:
        (run_baselines if chosen.baselines else run_all)(protocol, found)


if __name__ == "__main__":
    main()
