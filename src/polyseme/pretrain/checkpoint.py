"""A run on disk: everything that is needed to go on as if nothing had happened.

One safetensors file: weights, optimiser and carried states as tensors, the rest as JSON in its header. It is written
beside the old one and takes its name only when it is complete, so that there is a whole checkpoint at every moment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from polyseme.errors import JobError
from polyseme.files.atomic import partial_path, put_in_place, raise_if_disk_full
from polyseme.nn.lstm import CellState
from polyseme.pretrain.objective import States
from polyseme.pretrain.trainer import Training

VERSION = 1
COUNTERS = ("step", "tokens", "best", "since_best", "validated_at", "seed")


def save_checkpoint(training: Training, path: Path, corpus: str) -> None:
    """Write the run's state; ``corpus`` is the fingerprint of its text. Every process takes part, the first writes."""
    tensors = {f"model.{name}": tensor for name, tensor in training.model.state_dict().items()}
    tensors |= {f"optimizer.{name}": tensor for name, tensor in training.optimizer.state().items()}
    tensors |= _state_tensors(training)
    meta = {
        "version": VERSION,
        "recipe": training.recipe.to_dict(),
        "corpus": corpus,
        "position": training.order.position,
        **{name: getattr(training, name) for name in COUNTERS},
    }
    if training.processes.first:
        beside = partial_path(path)
        try:
            save_file({n: t.detach().cpu().contiguous() for n, t in tensors.items()}, beside, {"run": json.dumps(meta)})
            put_in_place(beside, path)
        except (OSError, SafetensorError) as error:
            beside.unlink(missing_ok=True)
            raise_if_disk_full(error, path)
            raise JobError(f"the checkpoint {path} could not be written ({error}); the last one is kept") from None


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Its tensors and its numbers."""
    try:
        with safe_open(path, "pt") as file:
            meta = json.loads((file.metadata() or {})["run"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise JobError(f"{path} is no checkpoint of a training run: {error}") from None
    if meta.get("version") != VERSION:
        raise JobError(f"{path} was written by another version ({meta.get('version')}); this one reads {VERSION}")
    return tensors, meta


def restore(training: Training, path: Path, corpus: str) -> None:
    """Put a checkpoint's state into a run that was built for the same recipe and corpus."""
    tensors, meta = read_checkpoint(path)
    if meta["corpus"] != corpus:
        raise JobError(f"{path} belongs to a run on another corpus; resume it with the corpus it was started with")
    if meta["recipe"]["model"] != training.recipe.to_dict()["model"]:
        raise JobError(f"{path} holds a model of another shape than the recipe's; start a new run for that")
    training.model.load_state_dict(_part(tensors, "model."))
    training.optimizer.load(_part(tensors, "optimizer."))
    training.states = _states(_part(tensors, "state."), training)
    training.order.position.clear()
    training.order.position.update(meta["position"])
    for name in COUNTERS:
        setattr(training, name, meta[name])


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _state_tensors(training: Training) -> dict[str, Tensor]:
    """Carried states of all processes together."""
    found = {}
    for d, layers in enumerate(training.states or []):
        for layer, state in enumerate(layers):
            found[f"state.{d}.{layer}.h"] = training.processes.gather(state.h)
            found[f"state.{d}.{layer}.c"] = training.processes.gather(state.c)
    return found


def _states(tensors: dict[str, Tensor], training: Training) -> States | None:
    """Each process takes the rows it reads, however many processes there are now."""
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
