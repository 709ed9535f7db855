"""The saved state of a training run as one safetensors file: tensors by name, everything else as JSON in its header,
with a checksum of both.

It is written beside the old file and renamed only when it is complete, so that there is always a complete file. Curves
go to TensorBoard, if it is installed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from polyseme.errors import JobError
from polyseme.jobs.atomic import partial_path, put_in_place, raise_if_disk_full
from polyseme.jobs.manifests import CHECKSUM


def save_run_file(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    beside = partial_path(path)
    try:
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        beside.touch()
        mode = beside.stat().st_mode
        said = json.dumps(about)
        save_file(whole, beside, {"run": said, CHECKSUM: _checksum(whole, said)})
        beside.chmod(mode)  # safetensors makes files that only the owner can read
        put_in_place(beside, path)
    except (OSError, SafetensorError) as error:
        beside.unlink(missing_ok=True)
        raise_if_disk_full(error, path)
        raise JobError(f"{path} could not be written ({error}); what was there before is kept") from None


def read_run_file(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and what else was saved with them; ``remedy`` ends the sentence if it is damaged."""
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            about = json.loads(header["run"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise JobError(f"{path} is not a readable file of a training run ({error}); {remedy}") from None
    # Older runs have no checksums.
    if CHECKSUM in header and header[CHECKSUM] != _checksum(tensors, header["run"]):
        raise JobError(f"{path} is damaged: its checksum does not match; {remedy}")
    return tensors, about


def _checksum(tensors: Mapping[str, Tensor], about: str) -> str:
    found = zlib.crc32(about.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), found)
        found = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, found)
    return f"{found:08x}"


def open_tensorboard(folder: Path, after_step: int) -> Any:
    """A writer with ``add_scalar``, or None if tensorboard is not installed; steps after ``after_step`` are purged."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder, purge_step=after_step + 1 if after_step else None)
