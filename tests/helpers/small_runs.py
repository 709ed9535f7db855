"""Whole runs of a task on a few lines of data, with a small biLM at both ends: seconds, not minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.tiny_models import tiny_elmo
from polyseme.settings import with_values
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.run import Finished, TaskPlan, train_task
from polyseme.tasks.trained_task import Task

#: For all tasks: no static vectors (they need a package), few filters, one rate for all epochs.
SMALL = {
    "static": "none",
    "characters": 8,
    "character_dim": 6,
    "elmo": "both",
    "elmo_dropout": 0.0,
    "dropout": 0.0,
    "share": 1.0,
    "patience": 99,
    "halve_after": 0,
}


def small_run(task: str, folder: Path, train: Path, dev: Path, **changes: Any) -> tuple[Task, Finished]:
    """Train, and load the run again from its folder."""
    model, lang = folder / "bilm", changes.pop("lang", None)
    tiny_elmo(lang="en").save_pretrained(model)
    preset = with_values(find_task(task).presets["cpu"], SMALL | {"model": str(model)} | changes, "a task")
    plan = TaskPlan(task, DataFiles(train, dev), folder / "run", preset, "cpu", lang=lang, cache=folder / "cache")
    finished = train_task(plan)
    return Task.load(folder / "run"), finished


def assert_it_learned(finished: Finished, metric: str, at_least: float) -> None:
    """The loss fell, and dev scores what was hoped for."""
    history = finished.progress.history
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]
    assert finished.scores.values[metric] >= at_least


def tagger_without_bilm(task: str, folder: Path) -> Path:
    """A run of a few steps that tags English: names or parts of speech of a word's letters alone."""
    tags = {"ner": ("B-PER", "O", "O"), "pos": ("PROPN", "VERB", "PUNCT")}[task]
    rows = ((name, verb, ".") for name in ("Ada", "Bob", "Eve") for verb in ("left", "slept", "sang"))
    sentences = ("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) for words in rows)
    data = folder / f"{task}.txt"
    data.write_text("\n".join(sentences), encoding="utf-8")
    changes = {"elmo": "none", "static": "none", "characters": 8, "hidden": 8, "epochs": 6, "batch": 3, "rate": 0.05}
    preset = with_values(find_task(task).presets["cpu"], changes, "a task")
    train_task(TaskPlan(task, DataFiles(data, data), folder / task, preset, "cpu", lang="en"))
    return folder / task
