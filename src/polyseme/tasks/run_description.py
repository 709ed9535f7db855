"""A task's run on disk: its network, its progress, and run.json, which describes everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from polyseme import __version__
from polyseme.errors import FormatError, InputError
from polyseme.jobs.manifests import InputFile, Piece, check_piece, read_manifest
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.sentence_reader import State
from polyseme.settings import settings_from
from polyseme.tasks.definition import TaskNetwork, TrainingChoices, find_task
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.training import TaskTraining, TrainingProgress, set_rate

RUN = "run.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The biLM of a run: its name or path, and what identifies it."""

    name: str
    fingerprint: str
    state: State = "reset"  #: the state its sentences start from


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a run was started with; ``pieces`` are the files written along with it."""

    task: str
    budget: str
    seed: int
    lang: str
    inputs: InputChoices
    vectors: str | None  #: the digest of a file of word vectors; None for a package's, which ``inputs`` names
    network: Any  #: the task's sizes
    training: TrainingChoices
    data: Mapping[str, InputFile]  #: by split
    model: KnownModel | None
    dev_examples: int | None = None
    lenient: bool = False
    skip_bad_lines: bool = False
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    polyseme: str = __version__  #: the version that started it, for information
    version: int = VERSION

    @classmethod
    def read(cls, folder: Path) -> RunDescription:
        """Read run.json; FormatError if there is none, or if the files beside it do not match it."""
        if not (folder / RUN).is_file():
            raise FormatError(f"{folder} is not a run of polyseme task train: it has no {RUN}")
        try:
            found = read_manifest(folder / RUN, cls, VERSION)
            for name, piece in found.pieces.items():
                check_piece(folder / name, piece)
            sizes = type(find_task(found.task).presets["paper"].network)
            return replace(found, network=settings_from(sizes, found.network, RUN))
        except InputError as problem:
            raise FormatError(
                f"{folder} is not a complete run of polyseme task train: {problem}; train it again"
            ) from None


def save_network(network: TaskNetwork, path: Path) -> None:
    save_run_file(path, network.state_dict(), {})


def load_network(network: TaskNetwork, path: Path) -> None:
    tensors, _ = read_run_file(path, "train it again")
    _fill(network, tensors, path)


def save_progress(network: TaskNetwork, training: TaskTraining, path: Path) -> None:
    """Save everything needed to continue as if the run had never stopped."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in training.average.values.items()}
    for number, values in training.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    save_run_file(path, tensors, training.progress.to_dict())


def restore_progress(network: TaskNetwork, training: TaskTraining, path: Path) -> None:
    """Load a run's state into a network and a training that were created in the same way."""
    tensors, about = read_run_file(path, "delete it, and the run begins again")
    _fill(network, _part(tensors, "network."), path)
    training.average.begin(_part(tensors, "average."))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _part(tensors, "optimizer.").items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    optimizer = training.optimizer
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    training.progress = TrainingProgress.of(about)
    set_rate(optimizer, training.progress.rate)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _fill(network: TaskNetwork, tensors: dict[str, Tensor], path: Path) -> None:
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).split("\n")[1:2] or [str(error)]
        raise FormatError(f"{path} does not fit this run's network: {reason[0].strip()}") from None
