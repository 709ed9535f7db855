"""The parts of a reproduction, in the order of the report, and the choice of some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyseme.errors import ConfigError
from polyseme.reproduce import (
    figure_1,
    figure_2,
    held_out_perplexity,
    sense_distances,
    table_1,
    table_2,
    table_3,
    table_4,
    table_5,
    table_6,
    three_languages,
)
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.document import Section
from polyseme.reproduce.figure_1 import SAMPLED
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.task_rows import ABLATED, ALL_TASKS
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
        Part("table1", table_1.plan, table_1.section, ALL_TASKS),
        Part("table2", table_2.plan, table_2.section, ABLATED),
        Part("table3", table_3.plan, table_3.section, ABLATED),
        Part("table4", table_4.plan, table_4.section),
        Part("table5", table_5.plan, table_5.section),
        Part("table6", table_6.plan, table_6.section),
        Part("figure1", figure_1.plan, figure_1.section, SAMPLED),
        Part("figure2", figure_2.plan, figure_2.section, ALL_TASKS),
        Part("perplexity", held_out_perplexity.plan, held_out_perplexity.section),
        Part("senses", sense_distances.plan, sense_distances.section),
        Part("languages", three_languages.plan, three_languages.section),
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
