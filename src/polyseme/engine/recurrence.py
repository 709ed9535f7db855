"""The packed LSTM of one direction on numpy: the readable form, and what runs where there is no kernel.

A batch runs in chunks of steps, all layers of a chunk before the next chunk, so that memory does not grow with the
length of a sentence. Within a chunk the input's share of the gates is computed at once; each step adds the state's
share for the sentences that are still active.

The formulas are those of ``polyseme.nn.lstm``, written with numpy's fastest function: σ(x) = (1 + tanh(x / 2)) / 2. The
weights of i, f and o are halved, and so is the projection. Then, with G the sums for a gate,

    I, F, O = 1 + tanh(G)    g = tanh(G)    c ← clip((F · c + I · g) / 2)    h ← clip((O · tanh(c)) · ½ W_projection)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.engine.bilm_reader import Batch, Places, ReadingJob
from polyseme.engine.pool import row_products
from polyseme.engine.weights import LayerWeights, Precision
from polyseme.kernel.matrix import round_columns

Floats = npt.NDArray[np.float32]

#: Slots whose gates are computed at once: they should stay in the cache.
CHUNK_SLOTS = 256


class Layer:
    """One LSTM layer in one direction."""

    def __init__(self, config: BiLMConfig, weights: LayerWeights, precision: Precision) -> None:
        self.config = config
        halves = np.repeat(np.array([0.5, 0.5, 0.5, 1], np.float32), config.cell)  # [4H]
        self.input = rounded(weights.input, precision) * halves
        self.recurrent = rounded(weights.recurrent, precision) * halves
        self.bias = weights.bias * halves
        self.projection: Floats | None = None
        if weights.projection is not None:
            self.projection = rounded(weights.projection, precision) * np.float32(0.5)

    def run(self, x: Floats, active: list[int], h: Floats, c: Floats) -> Floats:
        """[slots, D] input of a chunk → [slots, D] output; the states h [B, D] and c [B, H] change."""
        gates = row_products(x, self.input)  # [slots, 4H]
        gates += self.bias
        y = np.empty_like(x)
        for begin, n in zip(accumulate(active, initial=0), active, strict=False):
            here = gates[begin : begin + n]
            here += row_products(h[:n], self.recurrent)
            h[:n] = self._project(self._remember(here, c[:n]))
            y[begin : begin + n] = h[:n]
        return y

    def _remember(self, gates: Floats, c: Floats) -> Floats:
        """The sums of the gates [n, 4H], and c [n, H], which changes → twice the cell's output [n, H]."""
        cell, clip = self.config.cell, self.config.cell_clip
        np.tanh(gates, out=gates)
        gates[:, : 3 * cell] += 1
        i, f, o, g = (gates[:, k * cell : (k + 1) * cell] for k in range(4))
        i *= g
        c *= f
        c += i
        c *= np.float32(0.5)
        if clip is not None:
            np.clip(c, -clip, clip, out=c)
        m = np.tanh(c)
        m *= o
        return m

    def _project(self, m: Floats) -> Floats:
        """Twice the cell's output [n, H] → h [n, D]"""
        if self.projection is None:
            return m * np.float32(0.5)
        h = row_products(m, self.projection)
        clip = self.config.projection_clip
        return h if clip is None else np.clip(h, -clip, clip, out=h)


class Direction:
    """The stack of layers that reads one way."""

    def __init__(self, config: BiLMConfig, layers: Sequence[LayerWeights], precision: Precision) -> None:
        self.config = config
        self.layers = [Layer(config, weights, precision) for weights in layers]

    def read(self, reading: ReadingJob) -> Iterator[None]:
        """Read a batch; pauses after every chunk."""
        batch, config = reading.batch, self.config
        count = len(batch.sentences)
        h = np.zeros((config.layers, count, config.projection), np.float32)
        c = np.zeros((config.layers, count, config.cell), np.float32)
        if (start := reading.start_states()) is not None:
            h[:], c[:] = start
        places = batch.places(backward=reading.direction == 1)  # [slots]
        rows = reading.batch_rows()[places]  # [slots]
        sink = Sink(reading, places, config.projection)
        begin = 0
        for active in chunks(batch):
            end = begin + sum(active)
            x = reading.table[rows[begin:end]]  # [slots, D]
            sink.keep(0, begin, x)
            for number, layer in enumerate(self.layers):
                y = layer.run(x, active, h[number], c[number])
                # The sum is what the next layer and the user see; the recurrence itself never sees it.
                x = x + y if config.skip_connections and number > 0 else y
                sink.keep(number + 1, begin, x)
            begin = end
            yield
        sink.close()
        reading.keep_states(h, c)


class Sink:
    """Where the outputs of a batch go: from slots to the rows of each sentence."""

    def __init__(self, reading: ReadingJob, places: Places, size: int) -> None:
        batch, columns = reading.batch, slice(reading.direction * size, (reading.direction + 1) * size)
        self.targets = batch.targets(reading.call.keep_boundaries)[places]  # [slots]
        self.parts = [reading.layers[number][:, :, columns] for number in batch.sentences]  # [L+1, N, D] each
        # One sentence is written to at once: there may be no room for it twice.
        self.rows = np.concatenate(self.parts, axis=1) if len(self.parts) > 1 else self.parts[0]

    def keep(self, layer: int, begin: int, values: Floats) -> None:
        """A layer's output at the slots from ``begin`` on. [slots, D]"""
        targets = self.targets[begin : begin + len(values)]
        kept = targets >= 0
        self.rows[layer, targets[kept]] = values[kept]

    def close(self) -> None:
        """All is there: hand it to the sentences."""
        if len(self.parts) > 1:
            ends = np.cumsum([part.shape[1] for part in self.parts])
            for part, rows in zip(self.parts, np.split(self.rows, ends[:-1], axis=1), strict=True):
                part[...] = rows


def chunks(batch: Batch) -> Iterator[list[int]]:
    """The active counts of all steps in order, in chunks of one step or more."""
    chunk = list[int]()
    for count in batch.active():
        if chunk and sum(chunk) + count > CHUNK_SLOTS:
            yield chunk
            chunk = []
        chunk.append(count)
    yield chunk


def rounded(weight: Floats, precision: Precision) -> Floats:
    """The weights as so many bits hold them."""
    if precision == "float16":
        return weight.astype(np.float16).astype(np.float32)
    if precision == "int8":
        whole, scales = round_columns(weight)
        return whole * scales
    return weight
