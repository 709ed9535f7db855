"""A biLM on a device, and the state its sentences start from: zero, one fixed state, or that of the last batch.

On the CPU, polyseme's own engine reads; on any other device, PyTorch. The model's card has the defaults: the language
of its text, the state a sentence starts from, how layers are mixed.
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

#: What a model reads once when it is loaded with ``state="warm"``: plain prose that every model can spell.
WARM_TEXT = (
    "It was early in the morning . The streets were still empty , and a light rain had begun to fall . "
    "She closed the door behind her , looked at the sky and walked towards the station . "
    '" There is time enough " , he had said , " for everything that matters . " '
    "In 1954 , some 300 people lived here ; today there are more than 12,000 ."
)

#: Device files of GPU drivers: NVIDIA's, AMD's and, under WSL, Windows's.
LINUX_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
WINDOWS_DRIVER = "C:/Windows/System32/nvcuda.dll"


def card_language(stored: StoredModel) -> str:
    """How text is split, according to the model's card; by rules for every script if it does not say."""
    languages = stored.card.get("languages") or ["any"]
    return str(stored.card.get("tokenization") or languages[0])


def card_state(stored: StoredModel) -> State:
    """The state a sentence starts from, according to the model's card; the zero state if it does not say."""
    return "warm" if stored.card.get("state") in ("warm", "carry") else "reset"


def warm_text(stored: StoredModel) -> str:
    """The text that the model reads before a sentence that starts warm."""
    return str(stored.card.get("warm_text") or WARM_TEXT)


def card_mix(stored: StoredModel) -> Mix:
    """How layers are mixed, according to the model's card; their mean if it does not say."""
    return "sum" if stored.card.get("mix") == "sum" else None


def choose_device(name: str) -> str:
    """ "auto" is a GPU if PyTorch finds one, else the CPU."""
    if name == "auto":
        name = _found() if may_have_gpu() and has_torch() else "cpu"
    return name if name == "cpu" else _checked(name)


def may_have_gpu() -> bool:
    """Whether it is worth a second or two to ask PyTorch about GPUs."""
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
    """Our own engine for a CPU, PyTorch's for any other device."""
    if device == "cpu":
        engine = Engine(stored, cache_mb=cache_mb, threads=threads, precision=precision)
        release(stored.tensors)  # the engine now has its own weights
        return engine
    if precision != "float32":
        raise ConfigError(f"{precision} weights need a CPU, but this model is on {device}")
    from polyseme.nn.device_engine import DeviceEngine  # the CPU needs no PyTorch

    return DeviceEngine(stored, device, threads)


class SentenceReader:
    """An engine that reads sentences, starting from ``state``."""

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
        """The state that ``count`` sentences start from if it is not carried; None for the zero state."""
        return self._memory.expand(count) if self._memory else None

    def forget(self) -> None:
        """Forget the carried state: the next sentences start from zero."""
        if self.state == "carry":
            self._memory = None
