"""Sentences of tokens → the layers of a biLM: the numbers of ``polyseme.nn``, fast.

sentences ─ plan ─► batches ─ token rows ─► table ─ recurrence, one thread per direction ─► layers, in input order
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from polyseme.engine.plan import BATCH_POSITIONS, Batch, Places, plan_batches
from polyseme.engine.progress import Progress
from polyseme.engine.recurrence import Direction, Sink
from polyseme.engine.threads import Pair, one_intraop_thread
from polyseme.engine.token_encoder import TokenEncoder
from polyseme.engine.token_rows import KEY_BYTES, Boundary, CacheStats, Key, TokenRows
from polyseme.engine.twins import Twins, fits
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLMState
from polyseme.nn.lstm import CellState

#: Sentences × cell size of a batch from which a second thread is worth its price.
TWO_THREADS_FROM = 16_384


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked for, and where the results go."""

    sentences: Sequence[Sequence[str]]
    start: BiLMState | None  #: a row for each sentence; None: zero
    final: BiLMState | None  #: filled where it is asked for
    keep_boundaries: bool
    progress: Progress | None
    layers: list[Tensor]  #: per sentence [L+1, N, W]


class Engine:
    """A biLM for inference. Calls from several Python threads are safe: they run one after the other."""

    def __init__(self, stored: StoredModel, *, cache_mb: float = 256, device: torch.device | str = "cpu") -> None:
        self.config, self.indexer = stored.config, stored.indexer
        self.device = torch.device(device)
        self._stored = stored
        tensors = self._tensors()
        padding = self.indexer.characters.padding if self.indexer.characters else 0
        with one_intraop_thread(), torch.inference_mode():
            self._encoder = TokenEncoder(self.config, tensors, padding)
            self._directions = [Direction(self.config, tensors, n) for n in range(self.config.directions)]
        limit = int(cache_mb * 2**20) // (4 * self.config.projection + KEY_BYTES)
        self._rows = TokenRows(self._encode_keys, self.config.projection, limit, self.device)
        self._batch_positions = BATCH_POSITIONS
        self._pair, self._threads = Pair(), 1
        self._lock = threading.Lock()

    @property
    def cache(self) -> CacheStats:
        """Hits, misses and size of the table of token vectors."""
        return self._rows.stats

    @cached_property
    def _twins(self) -> Twins | None:
        """Made for the first single sentence: whoever encodes in batches does not pay for it."""
        return Twins(self.config, self._directions, self._tensors()) if fits(self.config) else None

    def encode(
        self,
        sentences: Sequence[Sequence[str]],
        start: BiLMState | None = None,
        *,
        keep_boundaries: bool = False,
        progress: Progress | None = None,
    ) -> list[Tensor]:
        """Sentences of tokens → for each, its layers [L+1, N, W] ([L+1, N+2, W] with ``keep_boundaries``) on the CPU.

        ``start`` is the state each sentence starts from, one row per sentence; by default zero. ``progress`` is told
        positions as they are done.
        """
        return self._run(Call(sentences, start, None, keep_boundaries, progress, [torch.empty(0)] * len(sentences)))

    def encode_carrying(
        self,
        sentences: Sequence[Sequence[str]],
        start: BiLMState | None = None,
        *,
        keep_boundaries: bool = False,
        progress: Progress | None = None,
    ) -> tuple[list[Tensor], BiLMState]:
        """The same, and the state after each sentence."""
        shape = (self.config.directions, self.config.layers, len(sentences))
        h = torch.zeros(*shape, self.config.projection, dtype=torch.float32, device=self.device)
        c = torch.zeros(*shape, self.config.cell, dtype=torch.float32, device=self.device)
        final = BiLMState(h, c)
        call = Call(sentences, start, final, keep_boundaries, progress, [torch.empty(0)] * len(sentences))
        return self._run(call), final

    def _tensors(self) -> dict[str, Tensor]:
        """The model's weights on the device; on a CPU no copies."""
        return {name: tensor.to(self.device, torch.float32) for name, tensor in self._stored.tensors.items()}

    def _run(self, call: Call) -> list[Tensor]:
        with self._lock, one_intraop_thread() as self._threads, torch.inference_mode():
            lengths = [len(sentence) + 2 for sentence in call.sentences]
            waiting = plan_batches(lengths, self._batch_positions)
            waiting.reverse()
            rows = np.split(self._rows.look_up(call.sentences), np.cumsum(lengths)[:-1]) if lengths else []
            while waiting:
                batch = waiting.pop()
                try:
                    self._run_batch(batch, np.concatenate([rows[number] for number in batch.sentences]), call)
                except torch.OutOfMemoryError:
                    if len(batch.sentences) == 1:
                        raise
                    self._batch_positions = batch.positions // 2
                    waiting.extend(reversed(batch.halves()))
                    continue
                if call.progress is not None:
                    call.progress.advance(batch.positions)
        return call.layers

    def _run_batch(self, batch: Batch, rows: Places, call: Call) -> None:
        """``rows``: for each position of the batch's sentences, one after the other, its token's row in the table."""
        targets, sizes = batch.targets(call.keep_boundaries)
        config = self.config
        with torch.inference_mode(False):  # so that what leaves here is an ordinary tensor
            out = torch.empty(config.layers + 1, sum(sizes) + 1, config.width, dtype=torch.float32, device=self.device)

        places = batch.places()[: config.directions]
        read = [torch.from_numpy(rows[place]).to(self.device) for place in places]
        starts = [_starts(call.start, number, batch) for number in range(config.directions)]
        halves = out.split_with_sizes([config.projection] * config.directions, dim=2)
        sinks = [_sink(half, targets[place]) for half, place in zip(halves, places, strict=True)]

        def run(number: int) -> None:
            self._directions[number].run(batch, read[number], self._rows.table, starts[number], sinks[number])

        if len(batch.sentences) == 1 and self._twins is not None:
            self._twins.run(batch, read, self._rows.table, starts, sinks)
        elif config.directions == 1:
            run(0)
        else:
            self._at_once(lambda: run(0), lambda: run(1), self._work(batch))
        if call.final is not None:
            _keep_state(call.final, batch, self._directions)
        with torch.inference_mode(False):
            layers = out[:, :-1].to("cpu")  # without the row for dropped boundaries
            for number, part in zip(batch.sentences, layers.split_with_sizes(sizes, dim=1), strict=True):
                call.layers[number] = part if len(sizes) == 1 else part.clone()  # a sentence must not hold its batch

    def _encode_keys(self, keys: Sequence[Key]) -> Tensor:
        """Tokens and boundaries → [R, D]"""
        boundaries = {Boundary.BEGIN: self.indexer.begin_row(), Boundary.END: self.indexer.end_row()}
        ids = [boundaries[key] if isinstance(key, Boundary) else self.indexer.row(key) for key in keys]
        rows = torch.tensor(ids, dtype=torch.int64)  # [R, K]
        out = torch.empty(len(rows), self.config.projection, dtype=torch.float32, device=self.device)

        def encode(groups: list[Tensor]) -> None:
            for group in groups:
                out[group.to(self.device)] = self._encoder.encode(rows[group])

        groups = self._encoder.groups(rows)
        # Groups are sorted by length; every second one for each thread is a fair share.
        self._at_once(lambda: encode(groups[0::2]), lambda: encode(groups[1::2]), TWO_THREADS_FROM * (len(groups) - 1))
        return out

    def _work(self, batch: Batch) -> int:
        """How much a step of a batch has to do, in rows × cells; few rows of large weights still read them all."""
        return max(len(batch.sentences), self.config.projection // 64) * self.config.cell

    def _at_once(self, here: Callable[[], None], there: Callable[[], None], work: int) -> None:
        """Both jobs: on two threads where ``work`` is worth it, the caller allows two and the device is the CPU."""
        if work >= TWO_THREADS_FROM and self._threads > 1 and self.device.type == "cpu":
            self._pair.run(here, there)
        else:
            here()
            there()


def _starts(start: BiLMState | None, direction: int, batch: Batch) -> list[CellState] | None:
    """The state before a batch's sentences, per layer."""
    if start is None:
        return None
    rows = torch.tensor(batch.sentences, device=start.h.device)
    pairs = zip(start.h[direction], start.c[direction], strict=True)
    return [CellState(h.index_select(0, rows), c.index_select(0, rows)) for h, c in pairs]


def _keep_state(final: BiLMState, batch: Batch, directions: list[Direction]) -> None:
    """Copy what the layers remember of a batch's sentences to the rows of these sentences."""
    rows = torch.tensor(batch.sentences, device=final.h.device)
    for number, direction in enumerate(directions):
        for h, c, layer in zip(final.h[number], final.c[number], direction.layers, strict=True):
            state = layer.state()
            h[rows], c[rows] = state.h, state.c


def _sink(out: Tensor, targets: Places) -> Sink:
    """What writes a layer's rows to their places in ``out`` [L+1, rows, D]; ``targets`` says where, slot by slot."""
    to = torch.from_numpy(targets).to(out.device)

    def keep(layer: int, slots: slice, values: Tensor) -> None:
        out[layer].index_copy_(0, to[slots], values)

    return keep
