"""A checkpoint: everything needed to continue a run as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from polyseme.errors import JobError
from polyseme.nn.lstm import CellState
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.pretrain.training.language_model import States
from polyseme.pretrain.training.trainer import Training

VERSION = 1
COUNTERS = ("step", "tokens", "best", "since_best", "validated_at", "seed")


def save_checkpoint(training: Training, path: Path, about: Mapping[str, Any]) -> None:
    """Write the run's state; ``about`` says what it reads and how long it took. All processes call it, the first
    one writes."""
    tensors = {f"model.{name}": tensor for name, tensor in training.model.state_dict().items()}
    tensors |= {f"optimizer.{name}": tensor for name, tensor in training.optimizer.state().items()}
    tensors |= {f"average.{name}": tensor for name, tensor in training.average.values.items()}
    tensors |= _state_tensors(training)
    meta = {
        "version": VERSION,
        "recipe": training.recipe.to_dict(),
        **about,
        "position": training.sampler.position,
        **{name: getattr(training, name) for name in COUNTERS},
    }
    if training.processes.first:
        save_run_file(path, tensors, meta)


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a checkpoint, and its other values."""
    tensors, meta = read_run_file(path, "put a copy of another checkpoint of this run in its place, or start a new run")
    if meta.get("version") != VERSION:
        raise JobError(f"{path} was written by another version ({meta.get('version')}); this one reads {VERSION}")
    return tensors, meta


def restore(training: Training, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Load a checkpoint's state into a run that was built in the same way."""
    training.model.load_state_dict(_part(tensors, "model."))
    training.optimizer.load(_part(tensors, "optimizer."))
    training.average.begin(_part(tensors, "average."))
    training.states = _states(_part(tensors, "state."), training)
    training.sampler.position.clear()
    training.sampler.position.update(meta["position"])
    for name in COUNTERS:
        setattr(training, name, meta[name])


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _state_tensors(training: Training) -> dict[str, Tensor]:
    """The carried states of all processes together."""
    found = {}
    for d, layers in enumerate(training.states or []):
        for layer, state in enumerate(layers):
            found[f"state.{d}.{layer}.h"] = training.processes.gather(state.h)
            found[f"state.{d}.{layer}.c"] = training.processes.gather(state.c)
    return found


def _states(tensors: dict[str, Tensor], training: Training) -> States | None:
    """The rows of the carried states that this process reads, whatever the number of processes now."""
    if not tensors:
        return None
    config, processes = training.model.bilm.config, training.processes
    rows = len(tensors["0.0.h"])
    mine = slice(processes.rank * rows // processes.world, (processes.rank + 1) * rows // processes.world)
    device = training.model.device
    return [
        [
            CellState(*(tensors[f"{d}.{layer}.{part}"][mine].to(device) for part in "hc"))
            for layer in range(config.layers)
        ]
        for d in range(config.directions)
    ]
