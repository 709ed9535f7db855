"""What all parts of a reproduction share: a model, data, a budget, and where results are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polyseme import __version__
from polyseme.analysis.reproduce.budgets import Budget
from polyseme.analysis.reproduce.data_sets import find_task_data
from polyseme.analysis.reproduce.measurement import Missing, Shelf
from polyseme.analysis.reproduce.neighbours import QUESTIONS
from polyseme.analysis.reproduce.task_runs import Conditions
from polyseme.elmo import Elmo
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.static import PACKAGE


@dataclass(frozen=True)
class Bench:
    """Everything that the command line says."""

    elmo: Elmo
    model: str  #: as `Elmo.from_pretrained` takes it
    data: Path
    out: Path
    budget: Budget
    static: str = PACKAGE  #: word vectors beside ELMo, and the baseline of what vectors know
    questions: tuple[str, ...] = QUESTIONS  #: of Table 4
    device: str = "cpu"  #: of the task models
    cove: Path | None = None  #: a file with CoVe's weights, which read the static vectors

    @cached_property
    def shelf(self) -> Shelf:
        return Shelf(self.out / "results")

    def conditions(self, task: str) -> Conditions:
        """How a task is trained at this budget."""
        return Conditions(
            folder=self.out,
            elmo=self.elmo,
            model=self.model,
            preset=self.budget.preset,
            changes={"static": self.static, **self.budget.changes.get(task, {})},
            dev_examples=self.budget.dev_examples,
            device=self.device,
            seconds=self.budget.seconds[task],
        )

    def task_data(self, task: str) -> tuple[str, DataFiles] | Missing:
        return find_task_data(self.data, task)

    def describe(self) -> dict[str, Any]:
        """What the figures of a report belong to."""
        stored = self.elmo.stored
        training = stored.card.get("training") or {}
        return {
            "polyseme": __version__,
            "model": {
                "name": stored.card.get("name") or Path(self.model).name,
                "fingerprint": self.elmo.fingerprint,
                "layers": stored.config.layers,
                "width": stored.config.width,
                "tokens_seen": training.get("tokens_seen"),
            },
            "budget": self.budget.name,
            "static": Path(self.static).name,
        }
