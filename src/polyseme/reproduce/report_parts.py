"""The parts of a reproduction, in the order of the report, and the choice of some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyseme.errors import ConfigError
from polyseme.reproduce import figure_sections, model_parts, model_sections, task_parts, task_sections
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.document import Section
from polyseme.reproduce.measurement import Tree
from polyseme.tasks.definition import find_task


@dataclass(frozen=True, slots=True)
class Part:
    """A table or figure: what has to be measured, and how it is shown."""

    name: str
    plan: Callable[[Bench], Tree]
    section: Callable[[Any], Section]  #: from its figures: the tree with results, or {} if nothing was run
    tasks: Sequence[str] = ()  #: tasks trained for it: the branches of its tree


PARTS = {
    part.name: part
    for part in (
        Part("table1", task_parts.table_1, task_sections.table_1, task_parts.ALL_TASKS),
        Part("table2", task_parts.table_2, task_sections.table_2, task_parts.ABLATED),
        Part("table3", task_parts.table_3, task_sections.table_3, task_parts.ABLATED),
        Part("table4", model_parts.table_4, model_sections.table_4),
        Part("table5", model_parts.table_5, model_sections.table_5),
        Part("table6", model_parts.table_6, model_sections.table_6),
        Part("figure1", task_parts.figure_1, figure_sections.figure_1, task_parts.SAMPLED),
        Part("figure2", task_parts.figure_2, figure_sections.figure_2, task_parts.ALL_TASKS),
        Part("perplexity", model_parts.perplexity, model_sections.perplexity),
        Part("senses", model_parts.senses, model_sections.senses),
        Part("languages", model_parts.languages, model_sections.languages),
    )
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Some parts, and some tasks in parts that train tasks; all if none are named."""

    parts: Sequence[str] = ()
    tasks: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.parts:
            if name not in PARTS:
                raise ConfigError(f"there is no part {name!r}; there are: {', '.join(PARTS)}")
        trained = {task: None for name in self.names for task in PARTS[name].tasks}
        for task in self.tasks:
            find_task(task)
            if task not in trained:
                found = f"they train: {', '.join(trained)}" if trained else "they train none"
                raise ConfigError(f"the task {task!r} is in none of {', '.join(self.names)}; {found}")

    @property
    def names(self) -> Sequence[str]:
        return self.parts or tuple(PARTS)

    def of(self, trees: Mapping[str, Tree]) -> dict[str, Tree]:
        """The trees of the chosen parts, with the branches of the chosen tasks."""
        return {name: self._branches(name, trees[name]) for name in self.names}

    def _branches(self, name: str, tree: Tree) -> Tree:
        if not self.tasks or not PARTS[name].tasks:
            return tree
        return {task: row for task, row in tree.items() if task in self.tasks}
