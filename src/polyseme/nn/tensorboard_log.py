"""Curves of a training for TensorBoard, where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_tensorboard(folder: Path, after_step: int) -> Any:
    """A writer with ``add_scalar``, or None where tensorboard is not installed; later steps are forgotten."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder, purge_step=after_step + 1 if after_step else None)
