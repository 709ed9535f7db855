"""What all parts of a reproduction share: a model, data, a budget, and a place for results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polyseme import __version__
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.jobs.manifests import sha256_of
from polyseme.lm.places import find_place
from polyseme.prepared_text import read_target
from polyseme.probes.cove import CoVeVectors
from polyseme.probes.frozen import TableVectors
from polyseme.reproduce.budgets import ReportBudget
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Missing, Shelf
from polyseme.reproduce.neighbour_questions import QUESTIONS
from polyseme.reproduce.task_runs import Conditions
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.vectors.static import PACKAGE, identify_static


def check_given(data: Path, static: str, cove: Path | None, questions: Sequence[str]) -> None:
    """Refuse unusable inputs before the model is loaded, and not after hours of work."""
    if not data.is_dir():
        raise InputError(f"there is no folder {data} with data sets")
    if static == "none":
        raise ConfigError(f"the baselines need word vectors; give a file of them, or {PACKAGE}")
    for path in (*([Path(static)] if static != PACKAGE else []), *([cove] if cove is not None else [])):
        if not path.is_file():
            raise InputError(f"there is no file {path}")
    if cove is not None:
        CoVeVectors.load(cove, TableVectors.load(static, []))  # their widths must agree
    for question in questions:
        if read_target(question)[1] is None:
            raise InputError(f'no word is marked in {question!r}; put one in brackets: "Live in the [present]."')


@dataclass(frozen=True)
class Bench:
    """All choices made on the command line."""

    elmo: Elmo
    model: str  #: as given to `Elmo.from_pretrained`
    data: Path
    out: Path
    budget: ReportBudget
    static: str = PACKAGE  #: word vectors used beside ELMo, and as a baseline
    questions: tuple[str, ...] = QUESTIONS  #: for Table 4
    device: str = "cpu"  #: for the task models
    options: str | None = None  #: the options file of HDF5 weights, if it is not beside them
    cove: Path | None = None  #: a file with CoVe's weights, which read the static vectors
    cove_before: str | None = None  #: the digest of the CoVe weights used for this report before

    def __post_init__(self) -> None:
        for question in self.questions:
            find_place(self.elmo, question)

    @cached_property
    def shelf(self) -> Shelf:
        return Shelf(self.out / "results")

    @cached_property
    def static_key(self) -> str:
        """Identifies the static vectors, on which results depend."""
        return identify_static(self.static)

    @cached_property
    def cove_digest(self) -> str | None:
        return self.cove_before if self.cove is None else sha256_of(self.cove)

    def conditions(self, task: str) -> Conditions:
        """How a task is trained at this budget."""
        return Conditions(
            folder=self.out,
            elmo=self.elmo,
            model=self.model,
            options=self.options,
            preset=self.budget.preset,
            changes={"static": self.static, **self.budget.changes.get(task, {})},
            dev_examples=self.budget.dev_examples,
            device=self.device,
            seconds=self.budget.seconds[task],
        )

    def task_data(self, task: str) -> tuple[str, DataFiles] | Missing:
        return find_task_data(self.data, task)

    def describe(self) -> dict[str, Any]:
        """What the figures of a report were measured with, and the questions asked."""
        stored = self.elmo.stored
        training = stored.card.get("training") or {}
        return {
            "polyseme": __version__,
            "model": {
                **name_model(self.elmo, self.model),
                "layers": stored.config.layers,
                "width": stored.config.width,
                "tokens_seen": training.get("tokens_seen"),
            },
            "budget": self.budget.name,
            "budget_about": self.budget.about,
            "static": Path(self.static).name,
            "static_sha256": self.static_key if self.static_key != self.static else None,
            "questions": list(self.questions),
            "cove": self.cove_digest,
        }


def name_model(elmo: Elmo, source: str) -> dict[str, str]:
    """The name and the identity of a model."""
    return {"name": elmo.stored.card.get("name") or Path(source).name, "fingerprint": elmo.identity}
