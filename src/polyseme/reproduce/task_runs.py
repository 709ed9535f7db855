"""Task models that are trained once and cached, for the task tables and `benchmarks/tasks.py`.

FOLDER/results/NAME.json    scores, learned mixes, history of a run          FOLDER/runs/NAME/    the run itself

Scores on dev and test are in one record: they belong to the same network, even after the run has been deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polyseme.elmo import Elmo
from polyseme.jobs.manifests import digest, sha256_of
from polyseme.reproduce.measurement import Measurement, Result, slug
from polyseme.settings import with_values
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import Preset, find_task
from polyseme.tasks.inputs import Where
from polyseme.tasks.run import HISTORY, SCORES, TaskPlan, describe, train_task
from polyseme.tasks.trained_task import Task
from polyseme.tasks.training import TaskWatch
from polyseme.tasks.vectors.static import identify_static

#: A run on a share of the data has more epochs, up to this many times, because its epochs are short. With a factor of
#: ten, runs on a tenth of the data took as long as on all of it.
LONGEST_STRETCH = 5
#: Dev examples on which such a run is evaluated after each of its many epochs.
LOOKS = 400


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task model, described by what distinguishes it in the tables of the paper."""

    task: str
    elmo: Where = "none"
    layers: str = "all"
    penalty: float = 0.001  #: λ in the penalty λ‖w‖² on the weights of the mix
    share: float = 1.0  #: of the training data
    seed: int = 0

    @property
    def title(self) -> str:
        where = {"none": "baseline", "both": "ELMo at input and output"}.get(self.elmo, f"ELMo at the {self.elmo}")
        parts = [self.task, where]
        if self.elmo != "none":
            parts += [*([f"{self.layers} layer"] if self.layers != "all" else []), f"λ {self.penalty:g}"]
        if self.share < 1:
            parts.append(f"{100 * self.share:g} % of the data")
        return ", ".join([*parts, f"seed {self.seed}"])


@dataclass(frozen=True)
class Conditions:
    """The settings that all runs share."""

    folder: Path
    elmo: Elmo | None  #: None if only baselines are trained
    model: str  #: as given to `Elmo.from_pretrained`
    preset: str = "cpu"  #: the tasks' preset
    changes: Mapping[str, Any] = field(default_factory=dict)  #: changes to that preset
    dev_examples: int = 0  #: how many dev examples to use, evenly spread; 0 for all
    device: str = "cpu"
    seconds: float = 600.0  #: expected time of a run on all data, roughly
    options: str | None = None  #: the options file of HDF5 weights, if it is not beside them


def training(run: TaskRun, data: DataFiles, conditions: Conditions, *, test: Path | None = None) -> Measurement:
    """Train a network and measure its scores on dev and, if given, on a test set, its mix weights and its history.

    The expected time is always that of the training, which may have to be repeated if the run is not on this machine.
    """
    plan, settings = _planned(run, data, conditions)
    if test is not None:
        settings["data"] = {**settings["data"], "test": sha256_of(test)}

    def measure(watch: TaskWatch) -> Result:
        _ensure_trained(plan, conditions, watch)
        scores = json.loads((plan.out / SCORES).read_text(encoding="utf-8"))
        history = json.loads((plan.out / HISTORY).read_text(encoding="utf-8"))
        kept = ("values", "mixes", "examples", "epochs", "best_epoch", "stopped_by", "seconds")
        score = scores["values"][find_task(run.task).metric]
        found = {"score": score, **{key: scores.get(key) for key in kept}, "history": [one["dev"] for one in history]}
        return found if test is None else {**found, "test": _tested(plan, conditions, test)}

    seconds = conditions.seconds * min(1.0, run.share * _stretch(run.share) + 0.1)
    return Measurement(run.title, settings, measure, f"train {run.task}", seconds)


def epoch_limit(run: TaskRun, conditions: Conditions) -> int:
    """The maximum number of epochs of a run."""
    return _preset(run, conditions).training.epochs


def _planned(run: TaskRun, data: DataFiles, conditions: Conditions) -> tuple[TaskPlan, dict[str, Any]]:
    """The plan and the settings of a run, in a folder whose name is unique for its settings."""
    preset = _preset(run, conditions)
    elmo = conditions.elmo if run.elmo != "none" else None
    somewhere = TaskPlan(
        run.task,
        data,
        conditions.folder,
        preset,
        conditions.preset,
        run.seed,
        conditions.device,
        dev_examples=conditions.dev_examples,
    )
    settings = _settings(somewhere, elmo)
    folder = conditions.folder / "runs" / f"{slug(run.title)}-{digest(settings)[:10]}"
    return replace(somewhere, out=folder), settings


def _settings(plan: TaskPlan, elmo: Elmo | None) -> dict[str, Any]:
    """All that the result depends on: models and vectors by content, and ELMo's choices only if it is used."""
    about = describe(plan, elmo)
    unused = {"model", "options"}
    if elmo is None:
        unused |= {"layers", "mix_penalty", "elmo_dropout", "layer_norm"}
    inputs = {name: value for name, value in asdict(about.inputs).items() if name not in unused}
    return {
        "kind": "train",
        **{name: getattr(about, name) for name in ("task", "budget", "seed", "lang", "dev_examples")},
        "inputs": inputs | {"static": identify_static(about.inputs.static)},
        "network": asdict(about.network),
        "training": asdict(about.training),
        "data": {split: file.sha256 for split, file in about.data.items()},
        "model": elmo.identity if elmo is not None else None,
    }


def _preset(run: TaskRun, conditions: Conditions) -> Preset[Any]:
    """A budget's sizes with the run's choices; shorter epochs are more in number."""
    choices = {"elmo": run.elmo, "layers": run.layers, "mix_penalty": run.penalty, "model": conditions.model}
    if conditions.options is not None:
        choices["options"] = conditions.options
    what = f"the task {run.task}"
    preset = with_values(find_task(run.task).presets[conditions.preset], {**conditions.changes, **choices}, what)
    if run.share == 1:
        return preset
    training, stretch = preset.training, _stretch(run.share)
    longer = {name: round(stretch * getattr(training, name)) for name in ("epochs", "patience", "halve_after")}
    return with_values(preset, {**longer, "share": run.share * training.share, "looks": LOOKS}, what)


def _stretch(share: float) -> float:
    return min(1 / share, LONGEST_STRETCH)


def _ensure_trained(plan: TaskPlan, conditions: Conditions, watch: TaskWatch) -> None:
    if not (plan.out / SCORES).exists():
        elmo = conditions.elmo if plan.preset.inputs.elmo != "none" else None
        train_task(plan, resume=True, watch=watch, elmo=elmo)


def _tested(plan: TaskPlan, conditions: Conditions, test: Path) -> Result:
    """The scores of a trained network on a test set, and the tally of each example."""
    task = Task.load(plan.out, model=conditions.model, options=conditions.options, device=conditions.device)
    definition = find_task(plan.task)
    examples, answers = task.answered(test)
    values = definition.score(answers, examples).values
    tallies = [definition.tally(answer, example) for answer, example in zip(answers, examples, strict=True)]
    columns = [[round(number, 4) for number in column] for column in zip(*tallies, strict=True)]
    return {"score": values[definition.metric], "values": values, "tallies": columns}
