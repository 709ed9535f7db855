"""The table of tasks: baseline, ELMo at the input, at the output, at both; every row over one or more seeds.

    python benchmarks/tasks.py                                  everything that is not there yet, on dev
    python benchmarks/tasks.py --task ner --seeds 3             one task
    python benchmarks/tasks.py --task ner --layers last         another column of the paper's table 2
    python benchmarks/tasks.py --split test                     the test sets, once, at the end

Every run is a folder of its own below --work and goes on where it was stopped; a row is written when its last seed is
done. Rows of runs with another biLM, budget or data are other rows. Results: results/tasks.json, and from it the table
in docs/tasks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pages import fill_in, table

from polyseme.elmo import Elmo
from polyseme.files.atomic import replace_when_complete
from polyseme.tasks.frozen import BiLMVectors
from polyseme.tasks.registry import find_task
from polyseme.tasks.run import SCORES, RunPlan, change_preset, read_changes, train_task
from polyseme.tasks.task import Task
from polyseme.tasks.training import Watch
from polyseme.tasks.wsd import evaluate_senses

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "tasks.json"
WORK = HERE.parent / "runs" / "tasks"
DATA = Path(os.environ.get("POLYSEME_SHARED", HERE.parents[1] / "shared")) / "data"

#: Where each task's files lie below the data folder.
FOLDERS = {
    "ner": "ner/uner-ewt",
    "sst": "sst",
    "snli": "snli",
    "srl": "srl",
    "squad": "squad",
    "coref": "coref/ontogum",
    "pos": "pos/en_ewt",
}
#: Nothing is trained for word senses: one row for each layer, beside WordNet's first sense.
SENSES, SENSE_SETS = "wsd", {"dev": "semeval2007", "test": "ALL"}
TASKS = (*FOLDERS, SENSES)
WHERE = ("none", "input", "output", "both")
#: Relative reduction of the error by ELMo in the paper (table 1), percent.
PAPER = {"squad": 24.9, "snli": 5.8, "srl": 17.2, "coref": 9.8, "ner": 21.0, "sst": 6.8}
#: What makes a row a row of its own.
KEY = ("task", "elmo", "layers", "lambda", "model", "budget", "data", "split", "metric")


@dataclass(frozen=True)
class Wanted:
    """One row of the table."""

    task: str
    elmo: str
    layers: str
    penalty: float
    budget: str
    model: str
    changes: tuple[str, ...]

    def plan(self, seed: int, work: Path, fingerprint: str) -> RunPlan:
        definition = find_task(self.task)
        choices = {"elmo": self.elmo, "layers": self.layers, "mix_penalty": self.penalty, "model": self.model}
        preset = change_preset(definition.presets[self.budget], {**read_changes(list(self.changes)), **choices})
        name = [self.task, self.budget, self.elmo]
        if self.elmo != "none":
            name += [self.layers, f"{self.penalty:g}", fingerprint[:8]]
        name += [*(change.replace("=", "") for change in self.changes), f"seed{seed}"]
        data = definition.find(DATA / FOLDERS[self.task])
        return RunPlan(self.task, data, work / "-".join(name), preset, self.budget, seed)

    def row(self, split: str, scores: Sequence[float]) -> dict[str, Any]:
        return {
            "task": self.task,
            "elmo": self.elmo,
            "layers": self.layers if self.elmo != "none" else None,
            "lambda": self.penalty if self.elmo != "none" else None,
            "model": self.model if self.elmo != "none" else None,
            "budget": " ".join([self.budget, *self.changes]),
            "data": FOLDERS[self.task],
            "split": split,
            "metric": find_task(self.task).metric,
            "scores": [round(score, 2) for score in scores],
            "mean": round(statistics.fmean(scores), 2),
            "std": round(statistics.stdev(scores), 2) if len(scores) > 1 else None,
        }


def run_seed(plan: RunPlan, split: str, elmo: Elmo | None) -> float:
    """Train, or go on, or take what is there; the score of the best network on a split."""
    metric = find_task(plan.task).metric
    if not (plan.out / SCORES).exists():
        began = time.monotonic()
        watch = Watch(said=_say, looked=lambda progress, _: _say(f"{plan.out.name} {progress.history[-1]}"))
        train_task(plan, resume=True, watch=watch, elmo=elmo)
        _say(f"{plan.out.name}: {time.monotonic() - began:.0f} s")
    if split == "dev":
        return float(json.loads((plan.out / SCORES).read_text(encoding="utf-8"))["values"][metric])
    assert plan.data.test is not None
    return Task.load(plan.out).evaluate(plan.data.test).values[metric]


def sense_rows(elmo: Elmo, model: str, split: str) -> Iterator[dict[str, Any]]:
    """WordNet's first sense, then the nearest sense by each layer; the same for every seed."""
    name = SENSE_SETS[split]
    score = evaluate_senses(BiLMVectors(elmo), DATA / SENSES, [name])[name]
    found: list[tuple[str, str | None, str | None, float]] = [("none", None, None, score.first_sense_f1)]
    found += [("input", str(layer), model, f1) for layer, f1 in enumerate(score.f1)]
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
            "split": split,
            "metric": "f1",
            "scores": [percent],
            "mean": percent,
            "std": None,
        }


def read_rows() -> list[dict[str, Any]]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []


def keep_row(row: dict[str, Any]) -> None:
    """Into the results, in place of an earlier run of the same row, whole or not at all."""
    rows = [old for old in read_rows() if any(old[key] != row[key] for key in KEY)] + [row]
    with replace_when_complete(RESULTS) as file:
        file.write(("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n").encode())


def write_page() -> None:
    """The table in docs/tasks.md: means, spreads, and the share of the error that ELMo takes away."""
    lines = []
    rows = read_rows()
    for row in sorted(rows, key=lambda row: (TASKS.index(row["task"]), row["split"], WHERE.index(row["elmo"]))):
        same = ("task", "split") if row["task"] == SENSES else ("task", "budget", "split")
        base = [r for r in rows if r["elmo"] == "none" and all(r[k] == row[k] for k in same)]
        less = "–"
        if base and row["elmo"] != "none":
            less = f"{100 * (row['mean'] - base[0]['mean']) / (100 - base[0]['mean']):.1f} %"
        spread = f" ± {row['std']:.2f}" if row["std"] is not None else ""
        choice = ", ".join(str(row[key]) for key in ("elmo", "layers") if row[key] is not None)
        choice += f", λ {row['lambda']:g}" if row["lambda"] is not None else ""
        paper = f"{PAPER[row['task']]} %" if row["task"] in PAPER and row["elmo"] != "none" else "–"
        score = f"{row['mean']:.2f}{spread}"
        about = (row["task"], row["data"], row["split"], choice, row["metric"])
        lines.append([*about, score, len(row["scores"]), less, paper])
    head = ["task", "data", "split", "ELMo", "metric", "score", "seeds", "less error", "in the paper"]
    fill_in("tasks.md", "table", table(head, lines) if lines else "No row has been run yet.")


def _say(line: str) -> None:
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
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="only write the table of docs/tasks.md")
    choices = parser.parse_args()
    if not choices.page:
        torch.set_num_threads(choices.threads)
        wheres = choices.elmo or list(WHERE)
        elmo = Elmo.from_pretrained(choices.model, device="cpu") if set(wheres) - {"none"} else None
        for task in choices.task or TASKS:
            if task == SENSES and elmo is not None:
                for row in sense_rows(elmo, choices.model, choices.split):
                    keep_row(row)
                    _say(json.dumps(row))
            for where in wheres if task in FOLDERS else ():
                wanted = Wanted(
                    task, where, choices.layers, choices.penalty, choices.budget, choices.model, tuple(choices.changes)
                )
                fingerprint = elmo.fingerprint if elmo is not None else ""
                plans = [wanted.plan(seed, choices.work, fingerprint) for seed in range(choices.seeds)]
                if choices.split == "test" and plans[0].data.test is None:
                    _say(f"{task} has no test file; its rows are those on dev")
                    break
                row = wanted.row(choices.split, [run_seed(plan, choices.split, elmo) for plan in plans])
                keep_row(row)
                _say(json.dumps(row, ensure_ascii=False))
    write_page()


if __name__ == "__main__":
    main()
