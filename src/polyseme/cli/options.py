"""Options that several verbs share, each defined once, so that it means the same everywhere.

Options that belong together form a group: a dataclass whose fields are options. A verb takes a group as one argument,
while the command line shows its options one by one. What verbs do with a whole group is a method of the group.

    @with_groups
    def senses(word: …, reading: ReadingOptions, …) -> None: …      polyseme senses bank --model en --lang en …
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.pretrain.training.run_plan import RunPlan
    from polyseme.tasks.trained_task import Task

_MODELS = "A name (en; polyseme models lists all), a folder, a file, an address or a hub id."

Model = Annotated[str, typer.Option(help=_MODELS)]
ModelArgument = Annotated[str, typer.Argument(help=_MODELS, metavar="MODEL")]
OptionalModel = Annotated[str | None, typer.Argument(help=_MODELS, metavar="MODEL")]
MovedModel = Annotated[str | None, typer.Option("--model", help="The biLM, if it has moved.")]
ShownModels = Annotated[
    list[str] | None,
    typer.Option("--model", help=f"{_MODELS} May be repeated; by default, all bundled models.", show_default=False),
]
ShownIndexes = Annotated[
    list[Path] | None,
    typer.Option(
        "--index",
        help="A folder written by polyseme index; may be repeated. By default, a small bundled text.",
        metavar="DIR",
        show_default=False,
    ),
]
MarkedText = Annotated[
    str, typer.Argument(help='A text with one word in brackets: "Live in the [present]."', metavar="TEXT")
]
Field = Annotated[str | None, typer.Option(help="Field or column with the text; 'text' by default.")]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="Column with the ids; by default 'id', if there is one.", metavar="COLUMN"),
]
Kind = Annotated[str | None, typer.Option(help="Input format, if the file names do not show it: txt, jsonl, csv, …")]
Lang = Annotated[
    str | None,
    typer.Option(help="How to split text, by default as the model says; 'whitespace': tokens, one sentence per line."),
]
OptionsFile = Annotated[
    str | None,
    typer.Option("--options", help="options.json for HDF5 weights, if it is in another folder.", metavar="FILE"),
]
State = Annotated[
    Literal["reset", "warm"] | None,
    typer.Option(help="Start each sentence from zero or from one fixed state; by default, as the model says."),
]
CarriedState = Annotated[
    Literal["reset", "warm", "carry"] | None,
    typer.Option(
        help="Start each sentence from zero, from one fixed state, or where its row of the last batch "
        "ended, as in the original programs; by default, as the model says."
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:N, mps, or auto: a GPU if there is one.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; all usable cores by default.", metavar="N", min=1)]
TwoThreads = Annotated[
    int | None,
    typer.Option(help="CPU threads per process: 1, or 2 (one for each direction).", metavar="N", min=1, max=2),
]
Precision = Annotated[
    Literal["float32", "float16", "int8"],
    typer.Option(help="Precision of the weights on a CPU: fewer bits are faster and need less memory."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no hints.")]

# Options of training runs
TrainingProcesses = Annotated[
    int,
    typer.Option(
        "--processes", help="Processes that train together, each with a share of every step.", metavar="N", min=1
    ),
]
PreparedCorpus = Annotated[Path, typer.Argument(help="A folder written by polyseme prepare.", metavar="DIR")]
RunFolder = Annotated[Path, typer.Option(help="The folder for the run.", metavar="RUN")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Change one setting, such as optimizer.rate=0.002; may be repeated.", metavar="KEY=VALUE"
    ),
]
TaskChanges = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change one setting, such as training.rate=0.002; repeatable.", metavar="KEY=VALUE"),
]
HeldOut = Annotated[Path | None, typer.Option(help="Held-out text; by default, the end of the corpus.", metavar="FILE")]
RecipeName = Annotated[
    str | None,
    typer.Option(
        help="tiny, compact, small, medium, original or finetune, or a .toml file; the default is compact "
        "in pretrain, also with --init, and finetune in finetune. A resumed run keeps its recipe.",
        metavar="NAME",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed for new weights, order and dropout.")]
ResumeRun = Annotated[bool, typer.Option("--resume", help="Continue where the run stopped.")]
TrainingDevice = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]


def keep_existing(*outputs: Path | None, overwrite: bool) -> None:
    """Refuse existing output files before any work is done, unless they may be replaced."""
    from polyseme.jobs.atomic import refuse_existing

    for path in outputs:
        if path is not None and not overwrite:
            refuse_existing(path)


def from_everywhere(name: str) -> str:
    """An existing path made absolute, so that it is found again from any folder; any other name unchanged."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def use_threads(threads: int | None) -> None:
    """Apply --threads in verbs that use PyTorch: to PyTorch, and to engines and processes that start from now on."""
    if threads is None:
        return
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How texts are read, and by which model."""

    model: Model = "en"
    options_file: OptionsFile = None
    field: Field = None
    kind: Kind = None
    lang: Lang = None
    state: State = None

    def load(self, *, device: str = "auto", threads: int | None = None) -> Elmo:
        from polyseme.elmo import Elmo

        how: dict[str, Any] = {"options": self.options_file, "lang": self.lang, "state": self.state}
        return Elmo.from_pretrained(self.model, device=device, threads=threads, **how)


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Where a trained task finds its biLM, and what computes."""

    model: MovedModel = None
    options_file: OptionsFile = None
    device: Device = "cpu"
    threads: Threads = None

    def load(self, *names: str) -> list[Task]:
        from polyseme.tasks.trained_task import Task

        use_threads(self.threads)
        return [Task.load(name, model=self.model, options=self.options_file, device=self.device) for name in names]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a training run."""

    corpus: PreparedCorpus
    out: RunFolder
    recipe: RecipeName = None
    change: Changes = None
    valid: HeldOut = None
    options_file: OptionsFile = None
    resume: ResumeRun = False
    seed: Seed = 0
    device: TrainingDevice = "cpu"
    threads: TwoThreads = None
    processes: TrainingProcesses = 1
    quiet: Quiet = False

    def plan(self, init: str | None, default: str, *changes: str) -> RunPlan:
        """A run that starts from the weights of ``init``; ``default`` is its recipe unless --recipe names one."""
        from polyseme.pretrain.training.run_plan import RunPlan, chosen_recipe

        changed = [*(self.change or []), *changes]
        recipe = chosen_recipe(self.out, self.recipe, changed, resume=self.resume, default=default)
        start = (init, self.options_file, self.seed, self.device, self.threads)
        return RunPlan(Path(self.corpus), Path(self.out), recipe, self.valid, *start)


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with one option for each field of its groups."""
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
