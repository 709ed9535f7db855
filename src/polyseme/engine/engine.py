"""Sentences of tokens → the layers of a biLM: the numbers of ``polyseme.nn``, fast."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from polyseme.engine.plan import BATCH_SENTENCES, Batch, plan_batches
from polyseme.engine.recurrence import Direction
from polyseme.engine.token_encoder import TokenEncoder
from polyseme.engine.token_rows import CacheStats, Key, TokenRows
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLMState
from polyseme.nn.lstm import CellState

#: Rows × cell of a batch from which a second thread is worth its price.
TWO_THREADS_FROM = 16_384


class Engine:
    """A biLM for inference. Calls from several Python threads are safe: they run one after the other."""

    def __init__(self, stored: StoredModel, *, cache_mb: float = 256, device: torch.device | str = "cpu") -> None:
        self.config, self.indexer = stored.config, stored.indexer
        self.device = torch.device(device)
        tensors = {name: tensor.to(self.device, torch.float32) for name, tensor in stored.tensors.items()}
        characters = self.indexer.characters
        padding = characters.row("")[-1] if characters else None
        self._encoder = TokenEncoder(self.config, tensors, padding)
        self._directions = [Direction(self.config, tensors, number) for number in range(self.config.directions)]
        limit = int(cache_mb * 2**20) // (4 * self.config.projection)
        self._rows = TokenRows(self._encode_keys, self.config.projection, limit, self.device)
        self._batch_sentences = BATCH_SENTENCES
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="polyseme-backward")
        self._lock = threading.Lock()

    @property
    def cache(self) -> CacheStats:
        """Hits, misses and size of the table of token vectors."""
        return self._rows.stats

    def encode(
        self, sentences: Sequence[Sequence[str]], start: BiLMState | None = None, *, keep_boundaries: bool = False
    ) -> list[Tensor]:
        """Sentences of tokens → for each, its layers [L+1, N, W] ([L+1, N+2, W] with ``keep_boundaries``) on the CPU.

        ``start`` is the state each sentence starts from, one row per sentence; by default zero.
        """
        return self._run(sentences, start, None, keep_boundaries)

    def encode_carrying(
        self, sentences: Sequence[Sequence[str]], start: BiLMState | None = None, *, keep_boundaries: bool = False
    ) -> tuple[list[Tensor], BiLMState]:
        """The same, and the state after each sentence."""
        config = self.config
        shape = (config.directions, config.layers, len(sentences))
        final = BiLMState(
            torch.zeros(*shape, config.projection, device=self.device),
            torch.zeros(*shape, config.cell, device=self.device),
        )
        return self._run(sentences, start, final, keep_boundaries), final

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        start: BiLMState | None,
        final: BiLMState | None,
        keep_boundaries: bool,
    ) -> list[Tensor]:
        results: list[Tensor] = [torch.empty(0)] * len(sentences)
        with self._lock, one_intraop_thread(), torch.inference_mode():
            waiting = plan_batches([len(s) + 2 for s in sentences], self._batch_sentences)[::-1]
            while waiting:
                batch = waiting.pop()
                try:
                    layers = self._run_batch(batch, sentences, start, final, keep_boundaries)
                except torch.OutOfMemoryError:
                    if len(batch.sentences) == 1:
                        raise
                    waiting.extend(reversed(batch.halves()))
                    self._batch_sentences = max(1, min(self._batch_sentences, len(batch.sentences)) // 2)
                    continue
                for number, sentence in zip(batch.sentences, layers, strict=True):
                    results[number] = sentence
        return results

    def _run_batch(
        self,
        batch: Batch,
        sentences: Sequence[Sequence[str]],
        start: BiLMState | None,
        final: BiLMState | None,
        keep_boundaries: bool,
    ) -> list[Tensor]:
        rows = torch.from_numpy(self._rows.look_up([sentences[number] for number in batch.sentences])).to(self.device)
        target, sizes = _targets(batch, keep_boundaries)
        target = target.to(self.device)
        config, size = self.config, self.config.projection
        with torch.inference_mode(False):  # so that what leaves here is an ordinary tensor
            out = torch.empty(
                config.layers + 1, sum(sizes) + 1, config.width, device=self.device
            )  # last row: boundaries

        def run(number: int) -> None:
            places = torch.from_numpy(batch.places()[number]).to(self.device)
            columns = slice(number * size, (number + 1) * size)

            def keep(layer: int, slots: slice, values: Tensor) -> None:
                out[layer, :, columns].index_copy_(0, target[places[slots]], values)

            direction = self._directions[number]
            direction.run(batch, rows[places], self._rows.table, self._starts(start, number, batch), keep)
            if final is not None:
                for layer in range(config.layers):
                    h, c = direction.state(layer, len(batch.sentences))
                    final.h[number, layer, batch.sentences] = h
                    final.c[number, layer, batch.sentences] = c

        self._at_once([partial(run, number) for number in range(config.directions)], len(batch.sentences) * config.cell)
        layers = out[:, :-1].to("cpu")
        return [layers] if len(sizes) == 1 else [part.clone() for part in layers.split_with_sizes(sizes, dim=1)]

    def _starts(self, start: BiLMState | None, direction: int, batch: Batch) -> list[CellState] | None:
        if start is None:
            return None
        rows = torch.tensor(batch.sentences, device=start.h.device)
        return [
            CellState(start.h[direction, layer].index_select(0, rows), start.c[direction, layer].index_select(0, rows))
            for layer in range(self.config.layers)
        ]

    def _encode_keys(self, keys: Sequence[Key]) -> Tensor:
        """Tokens and boundaries → [R, D]"""
        boundaries = (self.indexer.begin_row(), self.indexer.end_row())
        ids = [self.indexer.row(key) if isinstance(key, str) else boundaries[key] for key in keys]
        rows = torch.tensor(ids, dtype=torch.int64)  # [R, K]
        out = torch.empty(len(rows), self.config.projection, device=self.device)

        def encode(groups: list[Tensor]) -> None:
            for group in groups:
                out[group.to(self.device)] = self._encoder.encode(rows[group])

        groups = self._encoder.jobs(rows)
        # Every second group: both threads get short and long tokens.
        self._at_once(
            [lambda: encode(groups[0::2]), lambda: encode(groups[1::2])], TWO_THREADS_FROM * (len(groups) - 1)
        )
        return out

    def _at_once(self, jobs: Sequence[Callable[[], None]], work: int) -> None:
        """Run one or two jobs: on two threads where ``work`` is worth it and the device is the CPU."""
        if len(jobs) == 1 or work < TWO_THREADS_FROM or self.device.type != "cpu":
            for job in jobs:
                job()
            return
        other = self._pool.submit(_on_worker, jobs[1])
        try:
            jobs[0]()
        finally:
            other.result()


def _on_worker(job: Callable[[], None]) -> None:
    torch.set_num_threads(1)  # a setting of the thread, not of the process
    with torch.inference_mode():
        job()


def _targets(batch: Batch, keep_boundaries: bool) -> tuple[Tensor, list[int]]:
    """For each position the output row it goes to (dropped boundaries: the row behind the last), rows per sentence."""
    if keep_boundaries:
        return torch.arange(batch.positions), batch.lengths
    sizes = [length - 2 for length in batch.lengths]
    last = sum(sizes)
    target = torch.full((batch.positions,), last)
    lengths = torch.tensor(batch.lengths)
    ends = torch.cumsum(lengths, dim=0)
    inside = torch.ones(batch.positions, dtype=torch.bool)
    inside[ends - 1] = False
    inside[ends - lengths] = False
    target[inside] = torch.arange(last)
    return target, sizes


@contextmanager
def one_intraop_thread() -> Iterator[None]:
    """One thread inside an operation: two would wait for each other at the end of every small one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
