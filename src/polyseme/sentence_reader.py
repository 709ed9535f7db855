"""A biLM on a device, and where its sentences start: at the zero state, at one fixed state, or where the last ended.

On the CPU it is polyseme's own engine that reads, on anything else PyTorch. What nobody chooses, the model's card says:
the language of its text, where a sentence starts, how layers are mixed.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from polyseme.encoding import Floats
from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.engine import Engine
from polyseme.engine.weights import Precision
from polyseme.errors import ConfigError
from polyseme.extras import has_torch, need_torch
from polyseme.formats.model import StoredModel, release
from polyseme.jobs.progress import Work
from polyseme.mixing import Mix

if TYPE_CHECKING:
    from polyseme.nn.device_engine import DeviceEngine

State = Literal["reset", "warm", "carry"]

#: What a model reads once at load with ``state="warm"``: plain prose, in words that every model can spell.
WARM_TEXT = (
    "It was early in the morning . The streets were still empty , and a light rain had begun to fall . "
    "She closed the door behind her , looked at the sky and walked towards the station . "
    '" There is time enough " , he had said , " for everything that matters . " '
    "In 1954 , some 300 people lived here ; today there are more than 12,000 ."
)

#: What the drivers of GPUs bring: NVIDIA's, AMD's and, under WSL, Windows's.
LINUX_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
WINDOWS_DRIVER = "C:/Windows/System32/nvcuda.dll"


def card_language(stored: StoredModel) -> str:
    """How the model's card says that text is split; rules for every script where it says nothing."""
    languages = stored.card.get("languages") or ["any"]
    return str(stored.card.get("tokenization") or languages[0])


def card_state(stored: StoredModel) -> State:
    """Where the model's card says that a sentence starts; at the zero state where it says nothing."""
    return "warm" if stored.card.get("state") in ("warm", "carry") else "reset"


def warm_text(stored: StoredModel) -> str:
    """What the model reads before a sentence that starts warm."""
    return str(stored.card.get("warm_text") or WARM_TEXT)


def card_mix(stored: StoredModel) -> Mix:
    """How the model's card says that layers are mixed; their mean where it says nothing."""
    return "sum" if stored.card.get("mix") == "sum" else None


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


def make_engine(
    stored: StoredModel, device: str, *, cache_mb: float, threads: int | None, precision: Precision
) -> Engine | DeviceEngine:
    """Our own for a CPU, PyTorch's for everything else."""
    if device == "cpu":
        engine = Engine(stored, cache_mb=cache_mb, threads=threads, precision=precision)
        release(stored.tensors)  # the engine has weights of its own now
        return engine
    if precision != "float32":
        raise ConfigError(f"{precision} weights need a CPU, but this model is on {device}")
    from polyseme.nn.device_engine import DeviceEngine  # the CPU needs no PyTorch

    return DeviceEngine(stored, device, threads)


class SentenceReader:
    """An engine that reads sentences from ``state`` on."""

    def __init__(self, engine: Engine | DeviceEngine, stored: StoredModel, state: State) -> None:
        self.engine, self.state = engine, state
        self._memory: ReadingState | None = None
        if state == "warm":
            _, self._memory = engine.encode_carrying([warm_text(stored).split()])

    def read(self, sentences: list[Sequence[str]], progress: Work | None) -> list[Floats]:
        """Sentences → layers [L+1, N+2, W] each, boundaries included."""
        if self.state == "carry":
            start = self._memory.rows(len(sentences)) if self._memory else None
            layers, final = self.engine.encode_carrying(sentences, start, keep_boundaries=True, progress=progress)
            self._memory = self._memory.replace_rows(final) if self._memory else final
            return layers
        return self.engine.encode(sentences, self.start(len(sentences)), keep_boundaries=True, progress=progress)

    def start(self, count: int) -> ReadingState | None:
        """Where so many sentences start if the state is not carried: None for the zero state."""
        return self._memory.expand(count) if self._memory else None

    def forget(self) -> None:
        """Drop a carried state: the next sentences start from zero."""
        if self.state == "carry":
            self._memory = None
