"""What ELMo costs in an epoch of training, by task: the same steps, or whole epochs, with and without it.

    python benchmarks/epoch_cost.py [--task ner …] [--budget cpu] [--steps 60] [--repeats 3]
    python benchmarks/epoch_cost.py --whole [--task ner …] [--budget cpu] [--repeats 3]

Each task model is trained in turns without ELMo, with it at the input, and with it at both ends: for some steps on the
dev set (train sets take longer to read) in one thread, by CPU time; or for an epoch on the train set, including
evaluation on dev, with PyTorch's default threads, by wall time. Layers are cached, as in every epoch but the first.
Results: results/epoch_cost.json, and the tables in docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Missing
from polyseme.settings import with_values
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.training import TaskWatch, TrainingProgress
from shared_data import DATA

TASKS = ("ner", "pos", "sst", "snli", "srl", "squad", "coref")
RESULTS = Path(__file__).parent / "results" / "epoch_cost.json"
PLACES = ("none", "input", "both")
BUDGETS = ("cpu", "paper")
WARMING = 5  # first steps, in which kernels are set up


class Enough(Exception):
    """Enough steps are done."""


def seconds_a_step(task: str, budget: str, where: str, data: DataFiles, elmo: Elmo, steps: int) -> float:
    """CPU seconds of one step, from the batch's sentences to the update."""
    taken: list[float] = []
    before = 0.0

    def stepped(progress: TrainingProgress, batches: int) -> None:
        nonlocal before
        now = time.process_time()
        if progress.batch > 1:  # before the first step of an epoch comes an evaluation on dev
            taken.append(now - before)
        before = now
        if len(taken) == WARMING + steps:
            raise Enough

    endless = {"elmo": where, "epochs": 1_000, "patience": 1_000}
    with tempfile.TemporaryDirectory() as folder, suppress(Enough):
        preset = with_values(find_task(task).presets[budget], endless, "a task")
        plan = TaskPlan(task, DataFiles(data.dev, data.dev), Path(folder), preset, budget, dev_examples=1)
        train_task(plan, watch=TaskWatch(stepped=stepped), elmo=elmo)
    return statistics.fmean(taken[WARMING:])


def seconds_an_epoch(task: str, budget: str, where: str, data: DataFiles, elmo: Elmo) -> float:
    """Wall-clock seconds for the first epoch and the evaluation on dev after it."""
    with tempfile.TemporaryDirectory() as folder:
        preset = with_values(find_task(task).presets[budget], {"elmo": where, "epochs": 1}, "a task")
        plan = TaskPlan(task, DataFiles(data.train, data.dev), Path(folder), preset, budget)
        return float(train_task(plan, elmo=elmo).progress.history[0]["seconds"])


def measure(task: str, options: argparse.Namespace, data: DataFiles, elmo: Elmo) -> dict[str, Any]:
    def seconds(where: str) -> float:
        if options.whole:
            return seconds_an_epoch(task, options.budget, where, data, elmo)
        return seconds_a_step(task, options.budget, where, data, elmo, options.steps)

    rounds = [{where: seconds(where) for where in PLACES} for _ in range(options.repeats)]
    return {
        "task": task,
        "budget": options.budget,
        "of": "an epoch" if options.whole else f"{options.steps} steps",
        "threads": torch.get_num_threads(),
        "seconds": {where: [round(one[where], 4) for one in rounds] for where in PLACES},
        "ratios": {where: [round(one[where] / one["none"], 3) for one in rounds] for where in PLACES[1:]},
    }


def write_page(rows: list[dict[str, Any]]) -> None:
    """A row for each task and budget, with the ratio of the time with ELMo to that without."""
    for title, whole in (("epoch cost", False), ("whole epochs", True)):
        cells = [_cells(row) for row in rows if (row["of"] == "an epoch") == whole]
        unit = "an epoch" if whole else "a step"
        fill_in("tasks.md", title, table(["task", "budget", f"{unit} without ELMo", "input", "both ends"], cells))


def _cells(row: dict[str, Any]) -> list[str]:
    without = statistics.median(row["seconds"]["none"])
    shown = f"{without:.1f} s" if without > 1 else f"{1000 * without:.0f} ms"
    ratios = (statistics.median(row["ratios"][where]) for where in PLACES[1:])
    return [row["task"], row["budget"], shown, *(f"{ratio:.2f}" for ratio in ratios)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, action="append", help="only these")
    parser.add_argument("--budget", choices=BUDGETS, default="cpu")
    parser.add_argument("--whole", action="store_true", help="whole epochs instead of steps")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if not options.whole:
        torch.set_num_threads(1)
    elmo = Elmo.from_pretrained("en", device="cpu")
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    found = {_key(row): row for row in rows}
    for task in options.task or TASKS:
        data = find_task_data(DATA, task)
        if isinstance(data, Missing):
            print(f"{task}: {data.reason}", flush=True)
            continue
        row = measure(task, options, data[1], elmo)
        found[_key(row)] = row
        print(json.dumps(row), flush=True)
        ordered = [found[key] for key in sorted(found)]
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        write_page(ordered)


def _key(row: dict[str, Any]) -> tuple[str, int, bool]:
    return row["budget"], TASKS.index(row["task"]), row["of"] == "an epoch"


if __name__ == "__main__":
    main()
