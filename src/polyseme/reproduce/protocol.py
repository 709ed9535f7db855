"""One protocol for both arms, the baseline and ELMo: the same grid, the same trials, then training with early stopping.

    1. TRIALS     every point of GRID, for each arm, on a part of the data (TRIAL_SHARE), one seed, scored on dev
    2. CHOICE     the best trial of each arm; of equals, the first
    3. RUNS       that choice on all the data (SHARES) with every seed, until dev has not improved for PATIENCE epochs
    4. TEST       read once, by the runs; p by a paired bootstrap over its items

docs/tasks.md says why. Everything else in a preset (sizes, rates, batches) is the same in both arms.

The paired bootstrap (Efron; Koehn, 2004) resamples the items of the test set two thousand times, with replacement and
equally for both models; p is how often the second model is not better, with one added to both counts, so that it is
never 0. With several seeds, a model's score is their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.reproduce.measurement import Measurement, Shelf
from polyseme.reproduce.task_runs import Conditions, TaskRun, training
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.inputs import Where

#: The values tried for both arms of every task.
GRID: Mapping[str, tuple[Any, ...]] = {
    "network.dropout": (0.2, 0.5),
    "inputs.characters": (50, 128),
    "inputs.word_vectors": ("frozen", "trained"),
}
#: The part of a run's data that a trial is trained on. A fifth of SQuAD's tenth teaches hardly anything (F1 on dev was
#: below 12 after 5 epochs in the first two trials begun), so its trials read all of it, for fewer epochs.
TRIAL_SHARE = 0.2
TRIAL_SHARES: Mapping[str, float] = {"squad": 1.0}
TRIAL_EPOCHS: Mapping[str, int] = {"squad": 6}
TRIAL_SEED = 0
#: Shares of the training data, for tasks where all of it would take too long; for SQuAD, a share of the paragraphs.
SHARES: Mapping[str, float] = {"squad": 0.1, "srl": 0.5}
#: A limit of epochs that no run should reach, since early stopping ends it first. Trials have the same limit.
LONGEST = 100
PATIENCE = 5
HALVE_AFTER = 2
#: Number of seeds for the two arms of Table 1, and for the other rows of Tables 2 and 3.
TABLE_1_SEEDS, TABLE_2_SEEDS = 3, 2

Choice = Mapping[str, Any]
Floats = npt.NDArray[np.float64]

DRAWS = 2000
_AT_ONCE = 100


@dataclass(frozen=True)
class Arm:
    """A task with ELMo or without it; ``where`` ELMo enters is as in the paper."""

    task: str
    where: Where

    @property
    def run(self) -> TaskRun:
        return TaskRun(self.task, self.where, seed=TRIAL_SEED)


def trials() -> list[Choice]:
    """All points of the grid, in its order."""
    return [dict(zip(GRID, point, strict=True)) for point in product(*GRID.values())]


def until_dev_says_stop() -> Choice:
    """The settings that all trials and runs share."""
    return {"training.epochs": LONGEST, "training.patience": PATIENCE, "training.halve_after": HALVE_AFTER}


def shared(task: str, preset: str, part: float = 1.0) -> Choice:
    """The share of its data that a task is trained on; for SQuAD, of its paragraphs, each read once by the biLM."""
    sizes = find_task(task).presets[preset].network
    name = "network.paragraphs" if hasattr(sizes, "paragraphs") else "training.share"
    return {name: part * SHARES.get(task, 1.0)}


def trial(arm: Arm, choice: Choice, data: DataFiles, conditions: Conditions) -> Measurement:
    """One point of the grid, on a part of the data that the runs are trained on."""
    part = TRIAL_SHARES.get(arm.task, TRIAL_SHARE)
    epochs = {"training.epochs": TRIAL_EPOCHS.get(arm.task, LONGEST)}
    share = shared(arm.task, conditions.preset, part)
    changes = {**conditions.changes, **until_dev_says_stop(), **epochs, **share, **choice}
    seconds = conditions.seconds * part
    return training(arm.run, data, replace(conditions, changes=changes, seconds=seconds))


def arm_trials(arm: Arm, data: DataFiles, conditions: Conditions) -> list[Measurement]:
    """Every point of the grid, in its order."""
    return [trial(arm, choice, data, conditions) for choice in trials()]


def chosen(tried: Sequence[Measurement], shelf: Shelf) -> Choice | None:
    """The best of an arm's trials; None until all are measured."""
    records = [shelf.record(one) for one in tried]
    scores = [record["result"]["score"] for record in records if record is not None]
    return best(trials(), scores) if len(scores) == len(tried) else None


def best(choices: Sequence[Choice], scores: Sequence[float]) -> Choice:
    """The choice with the best score on dev; of equals, the first."""
    return choices[max(range(len(choices)), key=lambda number: (scores[number], -number))]


def runs(
    run: TaskRun, choice: Choice, data: DataFiles, conditions: Conditions, *, seeds: int, judged: bool = True
) -> Iterator[Measurement]:
    """A row of a table: the arm's choice trained on all its data, with one run for each seed.

    ``judged`` runs are scored on the test set; if there is none, as for SQuAD, on dev instead.
    """
    changes = {**conditions.changes, **until_dev_says_stop(), **shared(run.task, conditions.preset), **choice}
    test = (data.test or data.dev) if judged else None
    for seed in range(seeds):
        yield training(replace(run, seed=seed), data, replace(conditions, changes=changes), test=test)


def significance(task: str, baseline: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> float:
    """p for results that include the tallies of their test items."""
    sides = [[np.array(result["test"]["tallies"], float).T for result in side] for side in (baseline, other)]
    return paired_bootstrap(sides[0], sides[1], find_task(task).from_tallies)


def paired_bootstrap(
    baseline: Sequence[Floats], other: Sequence[Floats], metric: Callable[[Floats], Floats], *, seed: int = 0
) -> float:
    """The tallies [items, K] of both models for each seed, and the function from sums to the metric → p."""
    items = len(baseline[0])
    if any(len(tallies) != items for tallies in (*baseline, *other)):
        raise ValueError("both models must have answered the same items")
    dice, worse = np.random.default_rng(seed), 0
    for start in range(0, DRAWS, _AT_ONCE):
        draws = min(_AT_ONCE, DRAWS - start)
        weights = dice.multinomial(items, np.full(items, 1 / items), size=draws).astype(np.float64)  # [draws, items]
        base, better = (np.mean([metric(weights @ one) for one in side], axis=0) for side in (baseline, other))
        worse += int((better <= base).sum())
    return (1 + worse) / (1 + DRAWS)
