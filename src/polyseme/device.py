"""Where a model runs: on the CPU by polyseme's own engine, on anything else by PyTorch."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from polyseme.errors import ConfigError
from polyseme.extras import has_torch, need_torch

#: What the drivers of GPUs bring: NVIDIA's, AMD's and, under WSL, Windows's.
LINUX_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
WINDOWS_DRIVER = "C:/Windows/System32/nvcuda.dll"


def choose_device(name: str) -> str:
    """ "auto" is a GPU where PyTorch finds one, else the CPU."""
    if name == "auto":
        name = _found() if may_have_gpu() and has_torch() else "cpu"
    return name if name == "cpu" else _checked(name)


def may_have_gpu() -> bool:
    """Whether it is worth a second or two to ask PyTorch for a GPU."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    if sys.platform == "win32":
        return Path(WINDOWS_DRIVER).exists()
    return any(Path(driver).exists() for driver in LINUX_DRIVERS)


def _found() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def _checked(name: str) -> str:
    need_torch(f"the device {name!r}")
    import torch

    try:
        return str(torch.empty(0, device=name).device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ConfigError(f"the device {name!r} cannot be used ({reason}); try 'cpu' or 'auto'") from None
