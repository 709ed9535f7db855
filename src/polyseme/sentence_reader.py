"""A biLM on a device, and where its sentences start: at the zero state, at one fixed state, or where the last ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyseme.card_choices import State, warm_text
from polyseme.encoding import Floats
from polyseme.engine.engine import Engine
from polyseme.engine.state import ReadingState
from polyseme.engine.weights import Precision
from polyseme.errors import ConfigError
from polyseme.formats.model import StoredModel
from polyseme.formats.reloadable import release
from polyseme.jobs.progress import Work

if TYPE_CHECKING:
    from polyseme.nn.device_engine import DeviceEngine


def make_engine(
    stored: StoredModel, device: str, *, cache_mb: float, threads: int | None, precision: Precision
) -> Engine | DeviceEngine:
    """Our own for a CPU, PyTorch's for everything else."""
    if device == "cpu":
        engine = Engine(stored, cache_mb=cache_mb, threads=threads, precision=precision)
        release(stored.tensors)  # the engine has weights of its own now
        return engine
    if precision != "float32":
        raise ConfigError(f"weights in {precision} are for CPUs, and this model is on {device}")
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
