"""Figure 1: how much data is needed, with ELMo and without."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import NONE, Verdict, absent, compare, done, is_better, row_of, scores, shown
from polyseme.reproduce.document import Block, Section, Table, section_of
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import EXAMPLES, TITLES, TRAINED_ON
from polyseme.reproduce.plots import draw_samples
from polyseme.reproduce.task_rows import PLACES, Figures, by_task, with_seeds
from polyseme.reproduce.task_runs import TaskRun
from polyseme.tasks.data_files import DataFiles

#: Figure 1 of the paper.
SAMPLED = ("snli", "srl")


def plan(bench: Bench) -> Tree:
    """With and without ELMo on growing shares of the training data; on dev."""

    def row(task: str, data: DataFiles) -> dict[str, Tree]:
        runs = {"baseline": TaskRun(task), "elmo": TaskRun(task, PLACES[task])}
        return {
            name: [
                {"share": share, "runs": with_seeds(bench, replace(run, share=share), data)}
                for share in bench.budget.shares
            ]
            for name, run in runs.items()
        }

    return by_task(bench, SAMPLED, row)


def section(figures: Figures) -> Section:
    """Dev score against the share of the training data."""
    curves = {task: row for task in figures if (row := row_of(figures, task))}
    rows, notes = [], list[str | None]()
    for task, row in curves.items():
        pairs = list(zip(row["baseline"], row["elmo"], strict=True))
        for baseline, elmo in pairs:
            without, with_elmo = scores(baseline["runs"]), scores(elmo["runs"])
            examples = next((f"{run['examples']['train']:,}" for run in done(baseline["runs"])), NONE)
            rows.append([TITLES[task], f"{100 * baseline['share']:g} %", examples, shown(without), shown(with_elmo)])
        by_share = {f"{100 * a['share']:g} %": (scores(b["runs"]), scores(a["runs"])) for a, b in pairs}
        notes.append(compare(f"{TITLES[task]} is better with ELMo, by share of the data", by_share))
        notes += [_all_data(task, row), _enough_data(TITLES[task], row), _enough_epochs(TITLES[task], row)]
    notes += absent(figures, TITLES)
    lead = (
        "Dev score against the share of the training data, with ELMo and without. The paper's claim: ELMo "
        "reaches the same score with fewer examples and fewer updates."
    )
    blocks: list[Block] = []
    if any(row[3] != NONE or row[4] != NONE for row in rows):
        blocks = [draw_samples(curves), Table(["task", "share", "examples", "baseline", "+ ELMo"], rows)]
    return section_of("Figure 1: how much data is needed", lead, blocks, notes)


def _all_data(task: str, row: Figures) -> str | None:
    """How many examples 100 % are, with those of the paper's data set if known."""
    runs = done(row["baseline"][-1]["runs"]) + done(row["elmo"][-1]["runs"])
    if not runs or row["baseline"][-1]["share"] < 1:
        return None
    theirs = f" (in the paper {TRAINED_ON[task]:,})" if task in TRAINED_ON else ""
    return f"{TITLES[task]}: the full data set has {runs[0]['examples']['train']:,} {EXAMPLES[task]}{theirs}."


def _enough_data(title: str, row: Figures) -> str | None:
    """The smallest share with which ELMo reaches the baseline on all data; None until every share has been run."""
    whole = scores(row["baseline"][-1]["runs"])
    reached_by = [(one["share"], scores(one["runs"])) for one in row["elmo"]]
    if not whole or not all(found for _, found in reached_by):
        return None
    reached = next(((share, found) for share, found in reached_by if fmean(found) >= fmean(whole)), None)
    if reached is None:
        return f"{title} with ELMo does not reach the baseline trained on all the data, with any share."
    share, found = reached
    needed = f"with {100 * share:g} % of it" if share < 1 else "only with all of it"
    doubts: dict[Verdict | None, str] = {"even": "within the spread of the seeds", "close": "within a point, one seed"}
    doubt = doubts.get(is_better(found, whole))
    return f"{title} with ELMo reaches the baseline trained on all the data {needed}{f' ({doubt})' if doubt else ''}."


def _enough_epochs(title: str, row: Figures) -> str | None:
    """The epoch after which ELMo matches the baseline's best score, both on all data."""
    baseline, elmo = (done(row[name][-1]["runs"]) for name in ("baseline", "elmo"))
    if not baseline or not elmo:
        return None
    best = fmean(max(run["history"]) for run in baseline)
    epochs = fmean(1 + run["history"].index(max(run["history"])) for run in baseline)
    ran = fmean(len(run["history"]) for run in baseline)
    reached = [next((n for n, dev in enumerate(run["history"], start=1) if dev >= best), None) for run in elmo]
    if missed := sum(one is None for one in reached):
        return f"{title} with ELMo does not reach the baseline's best dev score in {missed} of {len(reached)} runs."
    took = fmean(one for one in reached if one is not None)
    return (
        f"{title}: the baseline is best on dev after {epochs:.3g} of {ran:.3g} epochs; ELMo reaches that score after "
        f"{took:.3g}."
    )
