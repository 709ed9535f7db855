"""--threads for verbs that compute with PyTorch beside the engine."""

from __future__ import annotations

import os


def use_threads(threads: int | None) -> None:
    """So many for PyTorch, and for every engine and process that is started from now on; None: as it is."""
    if threads is None:
        return
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
