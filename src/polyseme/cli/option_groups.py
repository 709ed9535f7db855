"""Options that go together: a verb takes them as one argument, and the command line has them one by one.

    @with_groups
    def senses(word: …, reading: ReadingOptions, …) -> None: …      polyseme senses bank --model en --lang en …

A group is a dataclass whose fields are options; what a verb does with all of them together is a method of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from polyseme.cli import options

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.pretrain.training.run_plan import RunPlan


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Texts, and the model that reads them."""

    model: options.Model = "en"
    options_file: options.OptionsFile = None
    field: options.Field = None
    kind: options.Kind = None
    lang: options.Lang = None
    state: options.State = None

    def load(self, *, device: str = "auto", threads: int | None = None) -> Elmo:
        from polyseme.elmo import Elmo

        how: dict[str, Any] = {"options": self.options_file, "lang": self.lang, "state": self.state}
        return Elmo.from_pretrained(self.model, device=device, threads=threads, **how)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """A training run."""

    corpus: options.PreparedCorpus
    out: options.RunFolder
    recipe: options.RecipeName = None
    change: options.Changes = None
    valid: options.HeldOut = None
    options_file: options.OptionsFile = None
    resume: options.ResumeRun = False
    seed: options.Seed = 0
    device: options.TrainingDevice = "cpu"
    threads: options.TwoThreads = None
    processes: options.TrainingProcesses = 1
    quiet: options.Quiet = False

    def plan(self, init: str | None, default: str, *changes: str) -> RunPlan:
        """The run from the weights of ``init``; ``default`` is its recipe unless one is named."""
        from polyseme.pretrain.training.run_plan import RunPlan, chosen_recipe

        changed = [*(self.change or []), *changes]
        recipe = chosen_recipe(self.out, self.recipe, changed, resume=self.resume, default=default)
        start = (init, self.options_file, self.seed, self.device, self.threads)
        return RunPlan(Path(self.corpus), Path(self.out), recipe, self.valid, *start)


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with an option for each field of its groups."""
    hints = get_type_hints(verb, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        shown += _options(groups[name]) if name in groups else [_option(name, hints[name], parameter.default)]

    @functools.wraps(verb)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        verb(**given)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [_option(field.name, hints[field.name], field.default) for field in fields(group)]


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
