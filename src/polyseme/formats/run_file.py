"""What a training run keeps, as one safetensors file: tensors by name, everything else as JSON in its header.

It is written beside the old one and takes its name only when it is complete, so that there is a whole file at every
moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from polyseme.errors import JobError
from polyseme.files.atomic import partial_path, put_in_place, raise_if_disk_full


def save_run_file(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    beside = partial_path(path)
    try:
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        beside.touch()
        mode = beside.stat().st_mode
        save_file(whole, beside, {"run": json.dumps(about)})
        beside.chmod(mode)  # safetensors writes for the owner alone
        put_in_place(beside, path)
    except (OSError, SafetensorError) as error:
        beside.unlink(missing_ok=True)
        raise_if_disk_full(error, path)
        raise JobError(f"{path} could not be written ({error}); what was there before is kept") from None


def read_run_file(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Its tensors, and what else was saved with them."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["run"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise JobError(f"{path} is no file of a training run that can be read: {error}") from None
