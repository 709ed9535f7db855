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
from dataclasses import dataclass
from itertools import accumulate

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

#: A step works on a multiple of so many rows. What it computes beyond the active sentences nobody reads; but oneDNN
#: compiles and keeps a kernel of half a megabyte for each number of rows.
STEP_ROWS = 4


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One LSTM layer in one direction, prepared: gates i, f, o, g of H cells each, H filled up, g doubled."""

    input: Tensor  # [D, 4H]
    bias: Tensor  # [4H], with the forget gate's constant
    recurrent: Tensor  # [D, 4H]
    projection: Tensor | None  # [H, D], doubled

    @classmethod
    def of(cls, config: BiLMConfig, tensors: Mapping[str, Tensor], direction: int, layer: int) -> LayerWeights:
        """Out of the tensors of a ``BiLM``."""
        here = f"directions.{direction}.cells.{layer}."
        fill = -config.cell % VECTOR

        def gates(weight: Tensor) -> Tensor:
            apart = pad(weight.view(*weight.shape[:-1], 4, config.cell), (0, fill))
            return torch.cat([apart[..., :3, :], 2 * apart[..., 3:, :]], dim=-2).flatten(-2)

        bias = tensors[here + "bias"].clone()
        bias[config.cell : 2 * config.cell] += FORGET_BIAS
        return cls(
            gates(tensors[here + "input_weight"]),
            gates(bias),
            gates(tensors[here + "state_weight"]),
            2 * pad(tensors[here + "projection"], (0, 0, 0, fill)) if config.has_projection else None,
        )


class Layer:
    """One LSTM layer in one direction, and what it remembers of the sentences of a batch."""

    def __init__(self, config: BiLMConfig, weights: LayerWeights) -> None:
        self.config = config
        self.input = Product(weights.input, weights.bias)
        self.recurrent = Product(weights.recurrent)
        self.projection = Product(weights.projection) if weights.projection is not None else None
        self.h = weights.bias.new_zeros(0, config.projection)  # [rows, D] of the last step
        self.c2 = weights.bias.new_zeros(0, len(weights.bias) // 4)  # [rows, H] 2c
        self.active = 0
        self.last_h, self.last_c2 = self.h, self.c2  # [sentences, ·] of those that ended, after their last position

    def start(self, sentences: int, state: CellState | None) -> None:
        """Begin a batch, from zero or from a state with a row for each of its sentences."""
        self.active, rows = sentences, step_rows(sentences)
        self.h, self.last_h = (self.h.new_zeros(n, self.h.shape[1]) for n in (rows, sentences))
        self.c2, self.last_c2 = (self.c2.new_zeros(n, self.c2.shape[1]) for n in (rows, sentences))
        if state is not None:
            self.h[:sentences] = state.h
            torch.mul(state.c, 2, out=self.c2[:sentences, : self.config.cell])

    def state(self) -> CellState:
        """What it remembers: of each sentence, after its last position."""
        self._end(0)
        return CellState(self.last_h, self.last_c2[:, : self.config.cell] / 2)

    def run(self, x: Tensor, chunk: Chunk) -> Tensor:
        """[slots, D] input of a chunk → [slots, D] output."""
        begins = list(accumulate(chunk.active, initial=0))
        reach = max(begin + step_rows(active) for begin, active in zip(begins, chunk.active, strict=False))
        gates = self.input(pad(x, (0, 0, 0, reach - len(x))) if reach > len(x) else x)  # [≥ reach, 4H]
        outputs = []
        for begin, active in zip(begins, chunk.active, strict=False):
            if active != self.active:
                self._end(active)
            rows = step_rows(active)
            here = self.recurrent.plus(self.h[:rows], gates[begin : begin + rows]).sigmoid_()
            self.h = project(remember(here, self.c2[:rows], self.config.cell_clip), self.projection, self.config)
            outputs.append(self.h[:active])
        return torch.cat(outputs)

    def _end(self, active: int) -> None:
        """Keep the state of the sentences that have ended, all but the first ``active``."""
        self.last_h[active : self.active] = self.h[active : self.active]
        self.last_c2[active : self.active] = self.c2[active : self.active]
        self.active = active


def step_rows(active: int) -> int:
    """Rows that a step with so many sentences works on."""
    return -(-active // STEP_ROWS) * STEP_ROWS


def remember(gates: Tensor, c2: Tensor, clip: float | None) -> Tensor:
    """σ of the gates [n, 4H], and 2c [n, H], which changes → half of the cell's output [n, H]."""
    i, f, o, g = gates.split_with_sizes([c2.shape[1]] * 4, dim=1)
    c2.mul_(f).addcmul_(i, g, value=4).sub_(i, alpha=2)
    if clip is not None:
        c2.clamp_(-2 * clip, 2 * clip)
    return c2.sigmoid().mul_(o).sub_(o, alpha=0.5)


def project(m: Tensor, projection: Product | None, config: BiLMConfig) -> Tensor:
    """Half of the cell's output [n, H] → h [n, D]"""
    if projection is None:
        return m[:, : config.cell] * 2
    h = projection(m)
    clip = config.projection_clip
    return h if clip is None else h.clamp_(-clip, clip)


class Direction:
    """The stack of layers that reads one way; one thread at a time may run it."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], number: int) -> None:
        self.config = config
        self.layers = [Layer(config, LayerWeights.of(config, tensors, number, n)) for n in range(config.layers)]

    def run(self, batch: Batch, rows: Tensor, table: Tensor, start: list[CellState] | None, sink: Sink) -> None:
        """Read a batch: ``rows`` [slots] are the tokens' rows in ``table`` [·, D], in the order of the slots.

        ``sink`` gets every layer's output, 0 (the tokens themselves) to L. Afterwards the layers hold the final states.
        """
        for number, layer in enumerate(self.layers):
            layer.start(len(batch.sentences), start[number] if start else None)
        for chunk in batch.chunks(4 * self.config.cell):
            slots = slice(chunk.start, chunk.stop)
            x = table.index_select(0, rows[slots])
            sink(0, slots, x)
            for number, layer in enumerate(self.layers):
                y = layer.run(x, chunk)
                # The sum is what the next layer and the user see; the recurrence itself never sees it.
                x = x.add_(y) if self.config.skip_connections and number > 0 else y
                sink(number + 1, slots, x)
