"""The parts of a reproduction, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyseme.analysis.reproduce import figure_sections, model_parts, model_sections, task_parts, task_sections
from polyseme.analysis.reproduce.bench import Bench
from polyseme.analysis.reproduce.document import Section
from polyseme.analysis.reproduce.measurement import Tree


@dataclass(frozen=True, slots=True)
class Part:
    """A table or figure: what it takes, and how it is shown."""

    name: str
    plan: Callable[[Bench], Tree]
    section: Callable[[Any], Section]  #: of its figures: the tree with results, or {} where nothing was run
    by_task: bool = False  #: whether the tree has a branch for each task


PARTS = {
    part.name: part
    for part in (
        Part("table1", task_parts.table_1, task_sections.table_1, by_task=True),
        Part("table2", task_parts.table_2, task_sections.table_2, by_task=True),
        Part("table3", task_parts.table_3, task_sections.table_3, by_task=True),
        Part("table4", model_parts.table_4, model_sections.table_4),
        Part("table5", model_parts.table_5, model_sections.table_5),
        Part("table6", model_parts.table_6, model_sections.table_6),
        Part("figure1", task_parts.figure_1, figure_sections.figure_1, by_task=True),
        Part("figure2", task_parts.figure_2, figure_sections.figure_2, by_task=True),
        Part("perplexity", model_parts.perplexity, model_sections.perplexity),
        Part("senses", model_parts.senses, model_sections.senses),
        Part("languages", model_parts.languages, model_sections.languages),
    )
}
