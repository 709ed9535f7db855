"""The packed LSTM of one direction: every operation writes into a buffer that is kept.

A batch runs in chunks of steps, all layers of a chunk before the next chunk, so that memory does not grow with the
length of a sentence. Within a chunk the input's share of the gates is one matrix product; each step adds the state's
share for the sentences that are still active. The formulas are those of ``polyseme.nn.lstm``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.engine.plan import Batch, Chunk
from polyseme.nn.config import BiLMConfig
from polyseme.nn.lstm import FORGET_BIAS, CellState

#: What becomes of a layer's output: (layer number, slots, rows [slots, D]).
Sink = Callable[[int, slice, Tensor], None]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One LSTM layer; gate columns in the order i, f, o, g, all matrices for ``x @ W``."""

    input: Tensor  # [D, 4H]
    state: Tensor  # [D, 4H]
    bias: Tensor  # [4H], the forget gate's constant included
    projection: Tensor | None  # [H, D]


def layer_weights(config: BiLMConfig, tensors: Mapping[str, Tensor], direction: int, layer: int) -> LayerWeights:
    """The weights of one layer, out of a ``BiLM``'s tensors."""
    here = f"directions.{direction}.cells.{layer}."
    bias = tensors[here + "bias"].clone()
    bias[config.cell : 2 * config.cell] += FORGET_BIAS
    return LayerWeights(
        tensors[here + "input_weight"].contiguous(),
        tensors[here + "state_weight"].contiguous(),
        bias,
        tensors[here + "projection"].contiguous() if config.has_projection else None,
    )


class Direction:
    """The stack of layers that reads one way, with its work buffers; one thread at a time may run it."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], number: int) -> None:
        self.config = config
        self.layers = [layer_weights(config, tensors, number, layer) for layer in range(config.layers)]
        self.projection_clip = config.projection_clip if config.has_projection else None
        self._kept: dict[str, Tensor] = {}

    def run(self, batch: Batch, rows: Tensor, table: Tensor, start: list[CellState] | None, sink: Sink) -> None:
        """Read a batch: ``rows`` [slots] are the tokens' rows in ``table`` [·, D], in the order of the slots.

        ``sink`` gets every layer's output, 0 (the tokens themselves) to L. Afterwards ``state`` holds the final states.
        """
        count = len(batch.sentences)
        self._start(count, start)
        fresh = start is None
        for chunk in batch.chunks():
            slots = slice(chunk.start, chunk.stop)
            x = torch.index_select(
                table, 0, rows[slots], out=self._buffer("x", chunk.stop - chunk.start, table.shape[1])
            )
            sink(0, slots, x)
            for layer in range(len(self.layers)):
                y = self._run_layer(layer, x, chunk, fresh)
                # The sum is what the next layer and the user see; the recurrence itself never sees it.
                x = x.add_(y) if self.config.skip_connections and layer > 0 else x.copy_(y)
                sink(layer + 1, slots, x)
            fresh = False

    def state(self, layer: int, count: int) -> CellState:
        """What ``layer`` remembers of the ``count`` sentences of the last batch; the next one overwrites it."""
        config = self.config
        return CellState(
            self._buffer(f"h{layer}", count, config.projection), self._buffer(f"c{layer}", count, config.cell)
        )

    def _start(self, count: int, start: list[CellState] | None) -> None:
        for layer in range(len(self.layers)):
            h, c = self.state(layer, count)
            if start is None:
                h.zero_()
                c.zero_()
            else:
                h.copy_(start[layer].h)
                c.copy_(start[layer].c)

    def _run_layer(self, layer: int, x: Tensor, chunk: Chunk, fresh: bool) -> Tensor:
        """[slots, D] input of a chunk → [slots, D] output; ``fresh``: the state before it is zero."""
        weights, cell, clip = self.layers[layer], self.config.cell, self.config.cell_clip
        active = chunk.active
        gates = self._buffer("gates", len(x), 4 * cell)
        torch.addmm(weights.bias, x, weights.input, out=gates)
        squashed = gates[:, : 3 * cell].split_with_sizes(active)
        i, f, o, g = (gate.split_with_sizes(active) for gate in gates.view(-1, 4, cell).unbind(1))
        by_step = gates.split_with_sizes(active)
        output = self._buffer("y", len(x), x.shape[1])
        y = output.split_with_sizes(active)
        h_end, c_all = self.state(layer, active[0])
        m_all = self._buffer("m", active[0], cell)
        h, c, m = h_end, c_all, m_all
        n = active[0]
        for t, rows in enumerate(active):
            if rows != n:
                h_end[rows:n] = h[rows:n]  # the sentences that ended
                h, c, m, n = h[:rows], c_all[:rows], m_all[:rows], rows
            if not fresh:
                by_step[t].addmm_(h, weights.state)
            squashed[t].sigmoid_()
            g[t].tanh_()
            c.mul_(f[t]).addcmul_(i[t], g[t])
            if clip is not None:
                c.clamp_(-clip, clip)
            torch.tanh(c, out=m)
            h = y[t]
            if weights.projection is None:
                torch.mul(m, o[t], out=h)
            else:
                torch.mm(m.mul_(o[t]), weights.projection, out=h)
                if self.projection_clip is not None:
                    h.clamp_(-self.projection_clip, self.projection_clip)
            fresh = False
        h_end[:n] = h
        return output

    def _buffer(self, name: str, rows: int, columns: int) -> Tensor:
        """The first ``rows`` of a kept tensor [·, columns]; its values are whatever was there."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < rows:
            kept = self._kept[name] = self.layers[0].bias.new_empty(rows, columns)
        return kept[:rows]
