"""Sentences of tokens → the layers of a biLM: the numbers of ``polyseme.nn``, fast.

sentences ─ plan ─► batches ─ token rows ─► table ─ recurrence, a job for each batch and direction ─► layers, in order

The work is done by the kernel; where there is none, by numpy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.engine.bilm_reader import BiLMReader, Floats, ReadingJob, ReadingRequest, plan_batches
from polyseme.engine.compiled import CompiledDirection, CompiledTokenEncoder
from polyseme.engine.pool import Job, Pool, blas_names, check_threads, one_blas_thread, usable_cores
from polyseme.engine.recurrence import Direction
from polyseme.engine.token_encoder import TokenEncoder
from polyseme.engine.token_rows import KEY_BYTES, Boundary, CacheStats, Key, TokenRows
from polyseme.engine.weights import Precision, check_precision, layer_weights, token_weights
from polyseme.extras import has_torch
from polyseme.formats.model import StoredModel
from polyseme.jobs.progress import Work
from polyseme.kernel.library import VARIABLE, available, library

Ids = npt.NDArray[np.int64]

#: Tokens that are encoded in one job.
JOB_TOKENS = 128
#: Multiplications from which a second thread is worth its price.
WORTH_THREADS = 20_000_000


class Engine(BiLMReader):
    """A biLM for inference on a CPU. Several Python threads may call it at once."""

    def __init__(
        self,
        stored: StoredModel,
        *,
        cache_mb: float = 256,
        threads: int | None = None,
        precision: Precision = "float32",
    ) -> None:
        """``threads``: how many work on a call; None: all usable cores. ``precision``: of the weights."""
        check_precision(precision)
        self.config, self.indexer, self.precision = stored.config, stored.indexer, precision
        self._prepare(stored)
        limit = int(cache_mb * 2**20) // (4 * self.config.projection + KEY_BYTES)
        self._rows = TokenRows(self._encode_keys, self.config.projection, limit)
        self._rows_lock = threading.Lock()
        self.pool = Pool(check_threads(threads))

    def _prepare(self, stored: StoredModel) -> None:
        """The weights, in the form that the kernel or numpy wants."""
        config, tensors, kernel = self.config, stored.tensors, library()
        layers = [
            [layer_weights(config, tensors, direction, layer) for layer in range(config.layers)]
            for direction in range(config.directions)
        ]
        tokens = token_weights(config, tensors)
        self._encoder: TokenEncoder | CompiledTokenEncoder
        self._directions: list[Direction] | list[CompiledDirection]
        if kernel is None:
            self._encoder = TokenEncoder(config, tokens)
            self._directions = [Direction(config, one, self.precision) for one in layers]
        else:
            self._encoder = CompiledTokenEncoder(kernel, config, tokens, self.precision)
            self._directions = [CompiledDirection(kernel, config, one, self.precision) for one in layers]
        self.instruction_set = kernel.instruction_set if kernel else None  #: of the kernel; None: numpy does the work

    @property
    def threads(self) -> int:
        return self.pool.threads

    @property
    def cache(self) -> CacheStats:
        """Hits, misses and size of the table of token vectors."""
        return self._rows.stats

    @contextmanager
    def keeping_tokens(self, most: int) -> Iterator[None]:
        before, self._rows.limit = self._rows.limit, min(most, self._rows.limit)
        try:
            yield
        finally:
            self._rows.limit = before

    def encode_words(self, words: Sequence[str]) -> Floats:
        """Words → [V, D], what the token encoder makes of each; nothing is kept."""
        with self._quiet():
            return self._encode_keys(words)

    def encode_padding(self) -> Floats:
        """[D], what the token encoder makes of a position where no token stands; bilm-tf shows it behind a sentence."""
        rows = np.zeros((1, self.config.row_size), np.int64)
        with self._quiet():
            encoded: Floats = self._encoder.encode(rows, np.array([self.config.row_size]))[0]
        return encoded

    def _read(self, request: ReadingRequest) -> list[Floats]:
        config, lengths = self.config, [len(sentence) + 2 for sentence in request.sentences]
        kept = [length if request.keep_boundaries else length - 2 for length in lengths]
        layers: list[Floats] = [np.empty((config.layers + 1, count, config.width), np.float32) for count in kept]
        if not layers:
            return layers
        with self._quiet():
            with self._rows_lock:
                rows = self._rows.look_up(request.sentences)
                table = self._rows.table
            begins = list(accumulate(lengths, initial=0))
            threads = self.pool.threads if sum(lengths) * self._multiplications() >= WORTH_THREADS else 1
            jobs = [
                self._job(ReadingJob(batch, direction, rows, begins, table, layers, request), request.progress)
                for batch in plan_batches(lengths, -(-threads // config.directions))
                for direction in range(config.directions)
            ]
            self.pool.run(jobs, threads)
        return layers

    def _job(self, reading: ReadingJob, progress: Work | None) -> Job:
        yield from self._directions[reading.direction].read(reading)
        if progress is not None and reading.direction == 0:
            progress.advance(reading.batch.positions)

    def _encode_keys(self, keys: Sequence[Key]) -> Floats:
        """Tokens and boundaries → [R, D]"""
        boundaries = {Boundary.BEGIN: self.indexer.begin_row(), Boundary.END: self.indexer.end_row()}
        ids = [boundaries[key] if isinstance(key, Boundary) else self.indexer.row(key) for key in keys]
        rows = np.array(ids, dtype=np.int64)  # [R, K]
        out = np.empty((len(rows), self.config.projection), np.float32)
        lengths = self._character_counts(rows)
        order = np.argsort(lengths, kind="stable")  # tokens of like length together: then there is little padding
        groups = [order[begin : begin + JOB_TOKENS] for begin in range(0, len(order), JOB_TOKENS)]

        def encode(group: Ids) -> Job:
            out[group] = self._encoder.encode(rows[group], lengths[group])
            yield

        self.pool.run([encode(group) for group in groups])
        return out

    def _character_counts(self, rows: Ids) -> Ids:
        """[R, K] ids → [R] characters before the padding that ends each row."""
        characters = self.indexer.characters
        if characters is None:
            return np.zeros(len(rows), np.int64)
        columns = characters.max_characters
        inside = rows[:, -columns:] != characters.padding
        counts: Ids = (inside * np.arange(1, columns + 1)).max(axis=1)
        return counts

    def _multiplications(self) -> int:
        """For one position, in all layers and directions."""
        config = self.config
        projection = config.cell * config.projection if config.has_projection else 0
        return (8 * config.cell * config.projection + projection) * config.layers * config.directions

    def _quiet(self) -> AbstractContextManager[None]:
        return nullcontext() if self.instruction_set else one_blas_thread()


def describe_engine() -> dict[str, Any]:
    """Plain values, in the order in which they are shown."""
    kernel = library()
    return {
        "engine": f"kernel, {kernel.instruction_set}" if kernel else _without_kernel(),
        "kernels_here": available(),
        "threads": usable_cores(),
        "cores": os.cpu_count(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "numpy": f"{version('numpy')}, {', '.join(blas_names()) or 'a BLAS without a name'}",
        "pytorch": _torch(),
    }


def _without_kernel() -> str:
    if os.environ.get(VARIABLE) == "off":
        return f"numpy, because {VARIABLE} is off"
    return "numpy, because no kernel was compiled for this machine"


def _torch() -> str:
    try:
        return version("torch") if has_torch() else "not installed; needed to train and on GPUs (the extra train)"
    except PackageNotFoundError:
        return "installed"
