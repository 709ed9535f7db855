"""Options that several verbs have: each is said once, so that it means the same everywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

_MODELS = "A name (en; polyseme models lists all), a folder, a file, an address or a hub id."

Model = Annotated[str, typer.Option(help=_MODELS)]
ModelArgument = Annotated[str, typer.Argument(help=_MODELS, metavar="MODEL")]
OptionalModel = Annotated[str | None, typer.Argument(help=_MODELS, metavar="MODEL")]
ShownModels = Annotated[
    list[str] | None,
    typer.Option(
        "--model", help=f"{_MODELS} May be given again; all that are bundled unless given.", show_default=False
    ),
]
ShownIndexes = Annotated[
    list[Path] | None,
    typer.Option(
        "--index",
        help="A folder of polyseme index; may be given again. A small text that is shipped unless given.",
        metavar="DIR",
        show_default=False,
    ),
]
MarkedText = Annotated[
    str, typer.Argument(help='A text with one word in brackets: "Live in the [present]."', metavar="TEXT")
]
Field = Annotated[str | None, typer.Option(help="Field of a table that has the text; 'text' unless given.")]
Kind = Annotated[str | None, typer.Option(help="Kind of the inputs, where their names do not tell: txt, jsonl, csv, …")]
Lang = Annotated[
    str | None,
    typer.Option(help="How text is split, if not as the model says; 'whitespace': tokens, one sentence a line."),
]
OptionsFile = Annotated[
    str | None,
    typer.Option("--options", help="options.json of HDF5 weights, if it is not beside them.", metavar="FILE"),
]
State = Annotated[
    Literal["reset", "warm"] | None,
    typer.Option(help="Each sentence from zero, or from one fixed state; unless given, as the model says."),
]
CarriedState = Annotated[
    Literal["reset", "warm", "carry"] | None,
    typer.Option(
        help="Each sentence from zero, from one fixed state, or from where its row of the last batch "
        "ended, as in the original programs; unless given, as the model says."
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:N, mps, or auto: a GPU where there is one.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; all usable cores unless given.", metavar="N", min=1)]
TwoThreads = Annotated[
    int | None,
    typer.Option(help="CPU threads of a process: 1, or 2 (one for each direction).", metavar="N", min=1, max=2),
]
Precision = Annotated[
    Literal["float32", "float16", "int8"],
    typer.Option(help="Of the weights on a CPU: fewer bits are faster and need less memory."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no next step.")]

# Of training runs
TrainingProcesses = Annotated[
    int, typer.Option("--processes", help="Processes that train as one, a share of each step each.", metavar="N", min=1)
]
PreparedCorpus = Annotated[Path, typer.Argument(help="A folder that polyseme prepare wrote.", metavar="DIR")]
RunFolder = Annotated[Path, typer.Option(help="The folder of the run.", metavar="RUN")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change one value, such as optimizer.rate=0.002; may be repeated.", metavar="KEY=VALUE"),
]
HeldOut = Annotated[
    Path | None, typer.Option(help="Held-out text; without it the end of the corpus is held out.", metavar="FILE")
]
RecipeName = Annotated[
    str | None,
    typer.Option(
        help="tiny, compact, small, medium, original or finetune, or a .toml file; compact for a new model, finetune "
        "for one that goes on in its own shape. A resumed run keeps its recipe.",
        metavar="NAME",
    ),
]
Seed = Annotated[int, typer.Option(help="Of new weights, order and dropout.")]
ResumeRun = Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")]
TrainingDevice = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]


def keep_existing(*outputs: Path | None, overwrite: bool) -> None:
    """Refuse files that are there before any work is done, unless they may be replaced."""
    from polyseme.jobs.atomic import refuse_existing

    for path in outputs:
        if path is not None and not overwrite:
            refuse_existing(path)


def from_everywhere(name: str) -> str:
    """A path that exists as it is from everywhere, so that it is found again later; any other name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def use_threads(threads: int | None) -> None:
    """--threads of verbs that compute with PyTorch: for it, and for engines and processes that start from now on."""
    if threads is None:
        return
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
