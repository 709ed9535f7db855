"""A biLM on a GPU: the PyTorch network itself, batch by batch, with the interface of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from polyseme.engine.bilm_reader import (
    MOST_POSITIONS,
    Batch,
    BiLMReader,
    Floats,
    ReadingRequest,
    ReadingState,
    plan_batches,
)
from polyseme.engine.pool import Pool, check_threads
from polyseme.engine.token_rows import CacheStats
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLM, BiLMOutput, BiLMState


class DeviceEngine(BiLMReader):
    """A biLM for inference on any PyTorch device."""

    def __init__(self, stored: StoredModel, device: str, threads: int | None = None) -> None:
        self.config, self.indexer, self.device = stored.config, stored.indexer, device
        self.cache = CacheStats()  #: always empty: a GPU encodes tokens faster than it could look them up
        self._bilm = BiLM.of(stored).to(device)
        self._most_positions = MOST_POSITIONS
        self.pool = Pool(check_threads(threads))  #: for CPU computations on the layers by other code

    def _read(self, request: ReadingRequest) -> list[Floats]:
        sentences, final = request.sentences, request.final
        layers: list[Floats] = [np.empty(0, np.float32)] * len(sentences)
        edge = slice(None) if request.keep_boundaries else slice(1, -1)
        waiting = plan_batches([len(sentence) + 2 for sentence in sentences], most=self._most_positions)
        waiting.reverse()
        while waiting:
            batch = waiting.pop()
            try:
                output = self._run_batch(batch, sentences, request.start)
            except torch.OutOfMemoryError:
                if len(batch.sentences) == 1:
                    raise
                self._most_positions = batch.positions // 2
                waiting.extend(reversed(batch.halves()))
                continue
            for row, (number, length) in enumerate(zip(batch.sentences, batch.lengths, strict=True)):
                layers[number] = output.layers[:, row, :length][:, edge].cpu().numpy().copy()
            if final is not None:
                final.h[:, :, batch.sentences] = output.state.h.cpu().numpy()
                final.c[:, :, batch.sentences] = output.state.c.cpu().numpy()
            if request.progress is not None:
                request.progress.advance(batch.positions)
        return layers

    def _run_batch(self, batch: Batch, sentences: Sequence[Sequence[str]], start: ReadingState | None) -> BiLMOutput:
        state = None
        if start is not None:
            rows = (start.h[:, :, batch.sentences], start.c[:, :, batch.sentences])
            state = BiLMState(*(torch.from_numpy(part).to(self.device) for part in rows))
        ids = self.indexer.batch([sentences[number] for number in batch.sentences])  # [B, T, K]
        with torch.inference_mode():
            output: BiLMOutput = self._bilm(torch.from_numpy(ids).to(self.device), state)
        return output
