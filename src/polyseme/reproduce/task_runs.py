"""Task models that are trained once and remembered: what the tables of tasks and `benchmarks/tasks.py` are made of.

FOLDER/results/NAME.json    scores, learned mixes, history of a run          FOLDER/runs/NAME/    the run itself

Scores on dev and test stand in one record: they are of one network, also where the run itself is gone.
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

#: A run on a share of the data has more epochs, up to so many times as many: its epochs are short. With ten times as
#: many, runs on a tenth of the data took as long as on all of it.
LONGEST_STRETCH = 5
#: Examples of dev that such a run is judged by after each of its many epochs.
LOOKS = 400


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task model as the tables of the paper tell them apart."""

    task: str
    elmo: Where = "none"
    layers: str = "all"
    penalty: float = 0.001  #: λ of λ‖w‖² on the weights of the mix
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
    """What all runs have in common."""

    folder: Path
    elmo: Elmo | None  #: None where only baselines are trained
    model: str  #: as `Elmo.from_pretrained` takes it
    preset: str = "cpu"  #: of the tasks' presets
    changes: Mapping[str, Any] = field(default_factory=dict)  #: of that preset
    dev_examples: int = 0  #: of dev, evenly spread; 0 for all
    device: str = "cpu"
    seconds: float = 600.0  #: that a run on all data should take, roughly
    options: str | None = None  #: of HDF5 weights that have none beside them


def training(run: TaskRun, data: DataFiles, conditions: Conditions, *, test: Path | None = None) -> Measurement:
    """Train a network; its scores on dev and on a test set if one is given, the weights of its mixes, its history.

    It takes as long as the training, with a test set too: the run may be on another machine, or nowhere.
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
    """The epochs after which a run ends, however dev is then."""
    return _preset(run, conditions).training.epochs


def _planned(run: TaskRun, data: DataFiles, conditions: Conditions) -> tuple[TaskPlan, dict[str, Any]]:
    """How a run is made, in a folder whose name tells runs with other settings apart."""
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
    """All that the result depends on: models and vectors by their content, and no ELMo's choices without it."""
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
    """A budget's sizes with the run's choices; epochs in which little is read are more in number."""
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
    """The scores of a trained network on a test set, and what each example adds to them."""
    task = Task.load(plan.out, model=conditions.model, options=conditions.options, device=conditions.device)
    definition = find_task(plan.task)
    examples, answers = task.answered(test)
    values = definition.score(answers, examples).values
    tallies = [definition.tally(answer, example) for answer, example in zip(answers, examples, strict=True)]
    columns = [[round(number, 4) for number in column] for column in zip(*tallies, strict=True)]
    return {"score": values[definition.metric], "values": values, "tallies": columns}
