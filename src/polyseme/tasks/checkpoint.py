"""Networks and unfinished runs on disk, as safetensors: tensors by name, everything else as JSON in the header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from polyseme.errors import FormatError, JobError
from polyseme.files.atomic import partial_path, put_in_place, raise_if_disk_full
from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.training import Progress, set_rate


def save_tensors(tensors: dict[str, Tensor], path: Path, about: dict[str, Any]) -> None:
    """Written beside, then put in place: there is a whole file at every moment."""
    beside = partial_path(path)
    try:
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(whole, beside, {"about": json.dumps(about)})
        put_in_place(beside, path)
    except (OSError, SafetensorError) as error:
        beside.unlink(missing_ok=True)
        raise_if_disk_full(error, path)
        raise JobError(f"{path} could not be written: {error}") from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise FormatError(f"{path} cannot be read as the file of a task's run: {error}") from None


def save_network(network: TaskNetwork, path: Path) -> None:
    save_tensors(network.state_dict(), path, {})


def load_network(network: TaskNetwork, path: Path) -> None:
    tensors, _ = read_tensors(path)
    _fill(network, tensors, path)


def save_progress(network: TaskNetwork, optimizer: torch.optim.Optimizer, progress: Progress, path: Path) -> None:
    """Everything that is needed to go on as if nothing had happened."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    save_tensors(tensors, path, progress.to_dict())


def restore_progress(network: TaskNetwork, optimizer: torch.optim.Optimizer, path: Path) -> Progress:
    """Put a run's state into a network and an optimiser that were built for it."""
    tensors, about = read_tensors(path)
    _fill(network, {n.removeprefix("network."): t for n, t in tensors.items() if n.startswith("network.")}, path)
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, number, key = name.split(".", 2)
            state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    progress = Progress.of(about)
    set_rate(optimizer, progress.rate)
    return progress


def _fill(network: TaskNetwork, tensors: dict[str, Tensor], path: Path) -> None:
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).split("\n")[1:2] or [str(error)]
        raise FormatError(f"{path} does not fit this run's network: {reason[0].strip()}") from None
