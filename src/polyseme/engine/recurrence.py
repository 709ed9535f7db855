"""The packed LSTM of one direction.

A batch runs in chunks of steps, all layers of a chunk before the next chunk, so that memory does not grow with the
length of a sentence. Within a chunk the input's share of the gates is one matrix product; each step adds the state's
share for the sentences that are still active.

The formulas are those of ``polyseme.nn.lstm``, written with one function: tanh(x) = 2 σ(2x) − 1, since torch's tanh
takes six times as long as its σ. The weights of g are doubled and C = 2c is kept, so that, exactly,

    C ← clip(σ(f) · C + 4 · σ(i) · σ(2g) − 2 · σ(i))        h ← clip((σ(o) · σ(C) − ½ · σ(o)) · 2 W_projection)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from polyseme.engine.plan import Batch, Chunk
from polyseme.engine.product import Product
from polyseme.nn.config import BiLMConfig
from polyseme.nn.lstm import FORGET_BIAS, CellState

#: What becomes of a layer's output: (layer number, slots, rows [slots, D]).
Sink = Callable[[int, slice, Tensor], None]

#: Cells are filled up to a multiple of this, with cells that stay 0: torch computes what is left over of its vectors in
#: another way, and which elements are left over would depend on the number of rows.
VECTOR = 32


class Layer:
    """One LSTM layer in one direction, and what it remembers of the sentences of a batch."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], here: str) -> None:
        self.cell, self.size = config.cell, config.projection
        self.wide = config.cell + -config.cell % VECTOR  # H, filled up
        self.cell_clip = 2 * config.cell_clip if config.cell_clip is not None else None
        self.projection_clip = config.projection_clip if config.has_projection else None
        bias = tensors[here + "bias"].clone()
        bias[config.cell : 2 * config.cell] += FORGET_BIAS
        self.input = Product(self._gates(tensors[here + "input_weight"]), self._gates(bias))  # [D, 4H]
        self.recurrent = Product(self._gates(tensors[here + "state_weight"]))  # [D, 4H]
        self.projection: Product | None = None
        if config.has_projection:
            self.projection = Product(2 * pad(tensors[here + "projection"], (0, 0, 0, self.wide - self.cell)))  # [H, D]
        self.h = bias.new_zeros(0, self.size)  # [sentences, D]
        self.c2 = bias.new_zeros(0, self.wide)  # [sentences, H] 2c

    def _gates(self, weight: Tensor) -> Tensor:
        """[…, 4H] gates i, f, o, g → the same, each filled up, g doubled."""
        gates = pad(weight.view(*weight.shape[:-1], 4, self.cell), (0, self.wide - self.cell))
        return torch.cat([gates[..., :3, :], 2 * gates[..., 3:, :]], dim=-2).flatten(-2)

    def start(self, sentences: int, state: CellState | None) -> None:
        """Begin a batch, from zero or from a state with a row for each of its sentences."""
        self.h = self.h.new_zeros(sentences, self.size)
        self.c2 = self.c2.new_zeros(sentences, self.wide)
        if state is not None:
            self.h.copy_(state.h)
            torch.mul(state.c, 2, out=self.c2[:, : self.cell])

    def state(self) -> CellState:
        """What it remembers: of each sentence, after its last position."""
        return CellState(self.h, self.c2[:, : self.cell] / 2)

    def run(self, x: Tensor, chunk: Chunk) -> Tensor:
        """[slots, D] input of a chunk → [slots, D] output."""
        outputs = []
        n = chunk.active[0]
        h, c2 = self.h[:n], self.c2[:n]
        for gates in self.input(x).split_with_sizes(chunk.active):  # [n, 4H]
            if len(gates) != n:
                ended, n = n, len(gates)
                self.h[n:ended] = h[n:]
                h, c2 = h[:n], c2[:n]
            h = self._step(gates, h, c2)
            outputs.append(h)
        self.h[:n] = h
        return torch.cat(outputs)

    def _step(self, gates: Tensor, h: Tensor, c2: Tensor) -> Tensor:
        """One step: the input's gates [n, 4H], state h [n, D] and c2 [n, H], which is changed in place → h."""
        i, f, o, g = self.recurrent.plus(h, gates).sigmoid_().view(-1, 4, self.wide).unbind(1)
        c2.mul_(f).addcmul_(i, g, value=4).sub_(i, alpha=2)
        if self.cell_clip is not None:
            c2.clamp_(-self.cell_clip, self.cell_clip)
        m = c2.sigmoid().mul_(o).sub_(o, alpha=0.5)
        if self.projection is None:
            return m[:, : self.cell] * 2
        h = self.projection(m)
        return h if self.projection_clip is None else h.clamp_(-self.projection_clip, self.projection_clip)


class Direction:
    """The stack of layers that reads one way; one thread at a time may run it."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], number: int) -> None:
        self.skip_connections = config.skip_connections
        self.layers = [Layer(config, tensors, f"directions.{number}.cells.{layer}.") for layer in range(config.layers)]

    def run(self, batch: Batch, rows: Tensor, table: Tensor, start: list[CellState] | None, sink: Sink) -> None:
        """Read a batch: ``rows`` [slots] are the tokens' rows in ``table`` [·, D], in the order of the slots.

        ``sink`` gets every layer's output, 0 (the tokens themselves) to L. Afterwards the layers hold the final states.
        """
        for number, layer in enumerate(self.layers):
            layer.start(len(batch.sentences), start[number] if start else None)
        for chunk in batch.chunks():
            slots = slice(chunk.start, chunk.stop)
            x = table.index_select(0, rows[slots])
            sink(0, slots, x)
            for number, layer in enumerate(self.layers):
                y = layer.run(x, chunk)
                # The sum is what the next layer and the user see; the recurrence itself never sees it.
                x = x.add_(y) if self.skip_connections and number > 0 else y
                sink(number + 1, slots, x)
