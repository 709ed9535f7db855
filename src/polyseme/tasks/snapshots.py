"""Networks and unfinished runs of tasks on disk."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from polyseme.errors import FormatError
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.training import TaskTraining, TrainingProgress, set_rate


def save_network(network: TaskNetwork, path: Path) -> None:
    save_run_file(path, network.state_dict(), {})


def load_network(network: TaskNetwork, path: Path) -> None:
    tensors, _ = read_run_file(path, "train it again")
    _fill(network, tensors, path)


def save_progress(network: TaskNetwork, training: TaskTraining, path: Path) -> None:
    """Everything that is needed to go on as if nothing had happened."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in training.average.values.items()}
    for number, values in training.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    save_run_file(path, tensors, training.progress.to_dict())


def restore_progress(network: TaskNetwork, training: TaskTraining, path: Path) -> None:
    """Put a run's state into a network and a training that were begun in the same way."""
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
