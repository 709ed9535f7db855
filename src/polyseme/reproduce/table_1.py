"""Table 1: six tasks without ELMo and with it."""

from __future__ import annotations

from typing import Any

from polyseme.reproduce import paper, task_rows
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import NONE, absent, compare, done, mean, row_of, scores, shown
from polyseme.reproduce.document import PAPER, Section, Table, section_of
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import EXAMPLES, TITLES
from polyseme.reproduce.protocol import Arm, Choice, arm_trials, chosen, significance, trials
from polyseme.reproduce.task_rows import ALL_TASKS, PLACES, Figures
from polyseme.reproduce.task_runs import TaskRun
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.inputs import Where

STILL_LEARNING = (
    "A network that is best in its last epoch may still be improving, so the gains partly measure how fast a model "
    "learns, not only how good it gets."
)


def plan(bench: Bench) -> Tree:
    """Baseline and ELMo with the λ of the task's preset; on test where the budget reads it and there is one."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        elmo = TaskRun(task, PLACES[task], penalty=task_rows.best_penalty(task, bench.budget.preset))
        split = "test" if bench.budget.test and data.test is not None else "dev"
        arms = {
            "baseline": task_rows.with_seeds(bench, TaskRun(task), data),
            "elmo": task_rows.with_seeds(bench, elmo, data),
        }
        tuned = _tuned(bench, task, data, arms) if bench.budget.tuned else {}
        return {"split": split, "elmo_at": PLACES[task], **arms, **tuned}

    return task_rows.by_task(bench, ALL_TASKS, row)


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


def section(figures: Figures) -> Section:
    """Baseline and ELMo, and how much of the baseline's error ELMo removes."""
    rows, pairs = [], {}
    for task, theirs in paper.TABLE_1.items():
        row = row_of(figures, task)
        split = row.get("split", "dev")
        baseline, elmo = (scores(row.get(name), split) for name in ("baseline", "elmo"))
        pairs[TITLES[task]] = (elmo, baseline)
        about = f"{task_rows.score_and_data(figures, task)} ({split})" if row else NONE
        rows.append([
            TITLES[task], about, shown(baseline), shown(elmo),
            *_gain(mean(baseline), mean(elmo)), _p(row.get("p")), task_rows.seed_count(baseline, elmo),
            _with_spread(theirs.previous, theirs.previous_spread), _with_spread(theirs.baseline, None),
            _with_spread(theirs.elmo, theirs.spread), f"{theirs.absolute:g} / {theirs.relative:g} %",
        ])  # fmt: skip
    head = ["task", "score, data", "baseline", "+ ELMo", "gain", "less error", "p", "seeds"]
    head += [PAPER + name for name in ("best before", "baseline", "+ ELMo", "gain / less error")]
    lead = "Task models without ELMo and with it. Less error is the share of the baseline's errors that ELMo removes."
    notes = [
        compare("ELMo is better than the baseline (paper: 6 of 6)", pairs),
        _tuning(figures),
        task_rows.elmo_places(figures),
        task_rows.ended_runs(figures, STILL_LEARNING),
        _trained_on(figures),
        _sets(figures),
        *absent(figures, TITLES),
    ]
    return section_of("Table 1: six tasks", lead, [Table(head, rows)], notes)


def _gain(baseline: float | None, elmo: float | None) -> tuple[str, str]:
    if baseline is None or elmo is None:
        return NONE, NONE
    less = f"{100 * (elmo - baseline) / (100 - baseline):.1f} %" if baseline < 100 else NONE
    return f"{elmo - baseline:+.2f}", less


def _tuning(figures: Figures) -> str | None:
    """How both arms were tuned, and what p is."""
    tried = {row["trials"] for task in figures if "trials" in (row := row_of(figures, task))}
    if not tried:
        return None
    return (
        f"Both arms were tuned alike: for each, the best of {max(tried)} trials on dev was trained until dev stopped "
        "improving. p is the share of 2,000 samples of the test items (paired bootstrap) in which ELMo is not better."
    )


def _p(p: float | None) -> str:
    """With as many digits as 2,000 samples give."""
    return NONE if p is None else f"{p:.4f}"


def _with_spread(value: float, spread: float | None) -> str:
    digits = _digits(value)
    return f"{value:.{digits}f}" + (f" ± {spread:.{max(digits, _digits(spread))}f}" if spread is not None else "")


def _digits(value: float) -> int:
    """Behind the point, as the paper writes it."""
    return 1 if round(value, 1) == value else 2


def _sets(figures: Figures) -> str | None:
    """Whose data may be others than the paper's."""
    if not any(row_of(figures, task) for task in figures):
        return None
    return f"{paper.SETS} Scores on other sets, or on parts of these, cannot be compared; gains can, with care."


def _trained_on(figures: Figures) -> str | None:
    """How many examples each task had, beside those of the paper's set where it is known."""
    runs = {task: row_of(figures, task).get("baseline") for task in TITLES}
    found = {task: run["examples"]["train"] for task, all_of_it in runs.items() for run in done(all_of_it)}
    theirs = {task: f" (in the paper {count:,})" for task, count in paper.TRAINED_ON.items()}
    shown_counts = ", ".join(
        f"{TITLES[task]} {count:,} {EXAMPLES[task]}{theirs.get(task, '')}" for task, count in found.items()
    )
    return f"Trained on: {shown_counts}." if found else None
