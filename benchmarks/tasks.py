"""The table of tasks: baseline, ELMo at the input, at the output, at both; each row with one or more seeds.

    python benchmarks/tasks.py                                  everything that is missing, on dev
    python benchmarks/tasks.py --task ner --seeds 3             one task
    python benchmarks/tasks.py --task ner --layers last         another column of the paper's table 2
    python benchmarks/tasks.py --split test                     the test sets, once, at the end

Runs are made and cached as in `polyseme reproduce`: a stopped run is resumed, and nothing is measured twice with the
same model, budget and data (report/results is committed, so another machine can continue). Rows of Table 1 include
their test scores; any other row needs its run for them (report/runs, not committed), and is trained again without it.
Results: results/tasks.json, and from it the table in docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.jobs.atomic import in_turn, replace_when_complete
from polyseme.probes.frozen import BiLMVectors
from polyseme.probes.wsd import evaluate_senses
from polyseme.reproduce.comparison import is_better, scores
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Missing, Shelf
from polyseme.reproduce.paper import TABLE_1
from polyseme.reproduce.task_rows import PLACES, is_in_table_1
from polyseme.reproduce.task_runs import Conditions, TaskRun, training
from polyseme.settings import read_changes
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.training import TaskWatch
from shared_data import DATA

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "tasks.json"
#: The report of `polyseme reproduce` that docs/reproduction.md shows: its results are committed, its runs are not.
REPORT = HERE / "report"

#: Nothing is trained for word senses: one row for each layer, and WordNet's first sense.
SENSES, SENSE_SETS = "wsd", {"dev": "semeval2007", "test": "ALL"}
TASKS = ("ner", "pos", "sst", "snli", "srl", "squad", "coref", SENSES)
WHERE = ("none", "input", "output", "both")
#: The fields that identify a row.
KEY = ("task", "elmo", "layers", "lambda", "model", "budget", "data", "split", "metric")


def task_rows(choices: argparse.Namespace, task: str, elmo: Elmo | None) -> Iterator[dict[str, Any]]:
    """Make a row for each place where ELMo enters, written when its last seed is done."""
    found = find_task_data(DATA, task)
    if isinstance(found, Missing):
        say(f"{task}: {found.reason}")
        return
    folder, data = found
    if choices.split == "test" and data.test is None:
        say(f"{task} has no test file; its rows are those on dev")
        return
    for where in choices.elmo or WHERE:
        run = TaskRun(task, where, choices.layers, choices.penalty)
        yield describe_row(choices, run, folder, run_seeds(choices, run, data, elmo)) | weights_of(elmo, where)


def run_seeds(choices: argparse.Namespace, run: TaskRun, data: DataFiles, elmo: Elmo | None) -> list[float]:
    """Train, resume or reuse a run; returns the score of each seed's best network on a split."""
    changes = read_changes(find_task(run.task).presets[choices.budget], choices.changes, f"the task {run.task}")
    conditions = Conditions(choices.work, elmo, choices.model, choices.budget, changes)
    shelf = Shelf(choices.work / "results")
    watch = TaskWatch(said=say, looked=lambda progress, _: say(f"{run.task} {run.elmo} {progress.history[-1]}"))
    test = data.test if choices.split == "test" or is_in_table_1(run, choices.budget) else None
    seeds = (replace(run, seed=seed) for seed in range(choices.seeds))
    return scores([shelf.take(training(one, data, conditions, test=test), watch) for one in seeds], choices.split)


def described(run: TaskRun, model: str, budget: str, folder: str, split: str) -> dict[str, Any]:
    """The fields of a row that describe its run."""
    with_elmo = run.elmo != "none"
    return {
        "task": run.task,
        "elmo": run.elmo,
        "layers": run.layers if with_elmo else None,
        "lambda": run.penalty if with_elmo else None,
        "model": model if with_elmo else None,
        "budget": budget,
        "data": folder,
        "split": split,
        "metric": find_task(run.task).metric,
    }


def describe_row(choices: argparse.Namespace, run: TaskRun, folder: str, scores: Sequence[float]) -> dict[str, Any]:
    return {
        **described(run, choices.model, " ".join([choices.budget, *choices.changes]), folder, choices.split),
        "scores": [round(score, 2) for score in scores],
        "mean": round(statistics.fmean(scores), 2),
        "std": round(statistics.stdev(scores), 2) if len(scores) > 1 else None,
    }


def weights_of(elmo: Elmo | None, where: str) -> dict[str, str | None]:
    """Which weights the model of a row had, since a name may refer to others later."""
    return {"weights": elmo.fingerprint[:12] if elmo is not None and where != "none" else None}


def sense_rows(choices: argparse.Namespace, elmo: Elmo | None) -> Iterator[dict[str, Any]]:
    """WordNet's first sense, then the nearest sense by each layer; the same for every seed."""
    if elmo is None:
        return
    name = SENSE_SETS[choices.split]
    score = evaluate_senses(BiLMVectors(elmo), DATA / SENSES, [name])[name]
    found: list[tuple[str, str | None, str | None, float]] = [("none", None, None, score.first_sense_f1)]
    found += [("input", str(layer), choices.model, f1) for layer, f1 in enumerate(score.f1)]
    for where, layer, used, f1 in found:
        percent = round(100 * f1, 2)
        yield {
            "task": SENSES,
            "elmo": where,
            "layers": layer,
            "lambda": None,
            "model": used,
            "budget": "nearest sense" if used else "first sense",
            "data": SENSES,
            "split": choices.split,
            "metric": "f1",
            "scores": [percent],
            "mean": percent,
            "std": None,
        } | weights_of(elmo, where)


def read_rows() -> list[dict[str, Any]]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []


def keep_row(row: dict[str, Any]) -> None:
    """Add a row to the results, replacing the same row of earlier runs and rows of the model's earlier weights."""
    with in_turn(RESULTS.with_name(f"{RESULTS.name}.lock")):
        kept = [old for old in read_rows() if any(old[key] != row[key] for key in KEY) and not is_outdated(old, row)]
        _write_rows([*kept, row])


def drop_rows(task: str, budget: str) -> None:
    """Drop rows of a task with another budget that newer rows have replaced."""
    with in_turn(RESULTS.with_name(f"{RESULTS.name}.lock")):
        kept = [row for row in read_rows() if (row["task"], row["budget"]) != (task, budget)]
        _write_rows(kept)


def _write_rows(rows: Sequence[dict[str, Any]]) -> None:
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in rows)
    with replace_when_complete(RESULTS) as file:
        file.write(f"[\n{lines}\n]\n".encode())


def is_outdated(old: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether both rows have models of the same name with different weights."""
    return old["model"] is not None and old["model"] == row["model"] and old["weights"] != row["weights"]


def write_page() -> None:
    """The table in docs/tasks.md: means, spreads, and the share of errors that ELMo removes.

    The paper's share is shown for its own choice of where ELMo enters.
    """
    lines = []
    rows = read_rows()
    for row in sorted(rows, key=lambda row: (TASKS.index(row["task"]), row["split"], WHERE.index(row["elmo"]))):
        same = ("task", "data", "split") if row["task"] == SENSES else ("task", "data", "budget", "split")
        base = [r for r in rows if r["elmo"] == "none" and all(r[k] == row[k] for k in same)]
        less = "–"
        if base and row["elmo"] != "none":
            less = f"{100 * (row['mean'] - base[0]['mean']) / (100 - base[0]['mean']):.1f} %".replace("-", "−")
            verdict = is_better(row["scores"], base[0]["scores"]) if row["task"] != SENSES else None  # it has no seeds
            less += {"even": " (within the spread)", "close": " (within a point, one seed)"}.get(verdict or "", "")
        spread = f" ± {row['std']:.2f}" if row["std"] is not None else ""
        choice = ", ".join(str(row[key]) for key in ("elmo", "layers") if row[key] is not None)
        choice += f", λ {row['lambda']:g}" if row["lambda"] is not None else ""
        choice += ", biLM fine-tuned" if "finetuned" in row else ""
        less += f" (p {row['p']:.4f})" if row.get("p") is not None else ""
        theirs = TABLE_1.get(row["task"]) if row["elmo"] == PLACES.get(row["task"]) else None
        paper = "–" if theirs is None else f"{theirs.relative} %"
        score = f"{row['mean']:.2f}{spread}"
        about = (row["task"], row["data"], row["split"], choice, row["metric"])
        lines.append([*about, score, len(row["scores"]), less, paper])
    head = ["task", "data", "split", "ELMo", "metric", "score", "seeds", "less error", "in the paper"]
    fill_in("tasks.md", "table", table(head, lines) if lines else "No row has been run yet.")


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, action="append", help="only these; may be given several times")
    parser.add_argument("--elmo", choices=WHERE, action="append", help="only these rows")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row")
    parser.add_argument("--layers", default="all")
    parser.add_argument("--lambda", dest="penalty", type=float, default=0.001)
    parser.add_argument("--model", default="en")
    parser.add_argument("--budget", choices=("cpu", "paper"), default="cpu")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--work", type=Path, default=REPORT, help="folder of the runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="only write the table of docs/tasks.md")
    choices = parser.parse_args()
    if not choices.page:
        torch.set_num_threads(choices.threads)
        wanted = choices.elmo or list(WHERE)
        elmo = Elmo.from_pretrained(choices.model, device="cpu") if set(wanted) - {"none"} else None
        for task in choices.task or TASKS:
            for row in sense_rows(choices, elmo) if task == SENSES else task_rows(choices, task, elmo):
                keep_row(row)
                say(json.dumps(row, ensure_ascii=False))
    write_page()


if __name__ == "__main__":
    main()
