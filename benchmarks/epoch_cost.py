"""What ELMo costs in an epoch of training: CPU time of the same steps with it and without it, task by task.

    python benchmarks/epoch_cost.py [--task ner …] [--budget cpu] [--steps 60] [--repeats 3]

Each task model is trained for some steps on the dev set (a train set takes longer to read), by turns without ELMo and
with it at the input and at both ends, in one thread. The layers are in the cache, as in every epoch but the first.
Results: results/epoch_cost.json, and the table in docs/tasks.md.
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
from shared_data import DATA

from polyseme.analysis.reproduce.data_sets import find_task_data
from polyseme.analysis.reproduce.measurement import Missing
from polyseme.elmo import Elmo
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.registry import MODULES, find_task
from polyseme.tasks.run import RunPlan, change_preset, train_task
from polyseme.tasks.training import Progress, Watch

RESULTS = Path(__file__).parent / "results" / "epoch_cost.json"
PLACES = ("none", "input", "both")
BUDGETS = {"cpu": "small sizes (`cpu`)", "paper": "the paper's sizes"}
WARMING = 5  # steps at the beginning, in which kernels are made


class Enough(Exception):
    """So many steps are done."""


def seconds_a_step(task: str, budget: str, where: str, data: DataFiles, elmo: Elmo, steps: int) -> float:
    """CPU seconds of one step, from the batch's sentences to the update."""
    taken: list[float] = []
    before = 0.0

    def stepped(progress: Progress, batches: int) -> None:
        nonlocal before
        now = time.process_time()
        if progress.batch > 1:  # before the first step of an epoch dev is looked at
            taken.append(now - before)
        before = now
        if len(taken) == WARMING + steps:
            raise Enough

    endless = {"elmo": where, "epochs": 1_000, "patience": 1_000}
    with tempfile.TemporaryDirectory() as folder, suppress(Enough):
        preset = change_preset(find_task(task).presets[budget], endless)
        plan = RunPlan(task, DataFiles(data.dev, data.dev), Path(folder), preset, budget, dev_examples=1)
        train_task(plan, watch=Watch(stepped=stepped), elmo=elmo)
    return statistics.fmean(taken[WARMING:])


def measure(task: str, budget: str, data: DataFiles, elmo: Elmo, steps: int, repeats: int) -> dict[str, Any]:
    rounds = [
        {where: seconds_a_step(task, budget, where, data, elmo, steps) for where in PLACES} for _ in range(repeats)
    ]
    return {
        "task": task,
        "budget": budget,
        "steps": steps,
        "seconds": {where: [round(one[where], 4) for one in rounds] for where in PLACES},
        "ratios": {where: [round(one[where] / one["none"], 3) for one in rounds] for where in PLACES[1:]},
    }


def write_page(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    """A row for each task; for each budget the step without ELMo and how many of them one with ELMo takes."""
    head = [f"{title}: {column}" for title in BUDGETS.values() for column in ("a step", "input", "both ends")]
    rows = [[task, *(cell for budget in BUDGETS for cell in _cells(found.get((task, budget))))] for task in MODULES]
    fill_in("tasks.md", "epoch cost", table(["task", *head], rows))


def _cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["–"] * len(PLACES)
    step = f"{1000 * statistics.median(row['seconds']['none']):,.0f} ms"
    return [step, *(f"{statistics.median(row['ratios'][where]):.2f}" for where in PLACES[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=tuple(MODULES), action="append", help="only these")
    parser.add_argument("--budget", choices=tuple(BUDGETS), default="cpu")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    elmo = Elmo.from_pretrained("en", device="cpu")
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    found = {(row["task"], row["budget"]): row for row in rows}
    for task in options.task or MODULES:
        data = find_task_data(DATA, task)
        if isinstance(data, Missing):
            print(f"{task}: {data.reason}", flush=True)
            continue
        row = measure(task, options.budget, data[1], elmo, options.steps, options.repeats)
        found[task, options.budget] = row
        print(json.dumps(row), flush=True)
        RESULTS.write_text(json.dumps([found[key] for key in sorted(found)], indent=1) + "\n", encoding="utf-8")
        write_page(found)


if __name__ == "__main__":
    main()
