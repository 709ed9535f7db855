"""A single sentence, read both ways at once.

With one row an operation costs more than its arithmetic. So the two directions take every step together: both weight
matrices stand side by side in one product, of whose result

    h →   │ h → · W →   h → · W ← │
    h ←   │ h ← · W →   h ← · W ← │

the diagonal is used; the weights are read once either way, and reading them is what takes the time. The numbers are
those of ``recurrence``, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from polyseme.engine.plan import Batch, Chunk
from polyseme.engine.product import Product
from polyseme.engine.recurrence import Direction, Layer, LayerWeights, Sink, remember
from polyseme.nn.config import BiLMConfig
from polyseme.nn.lstm import CellState

#: Larger weights take so long to read that nothing else matters, and a second copy of them would be large.
LARGEST_WEIGHTS = 4 * 2**20


def fits(config: BiLMConfig) -> bool:
    """Whether a model has twins: two directions, an LSTM with a projection, weights that are not large."""
    return config.bidirectional and config.has_projection and 16 * config.cell * config.projection <= LARGEST_WEIGHTS


class TwinLayer:
    """One layer in both directions; what it remembers is kept in its two ``Layer``s."""

    def __init__(self, config: BiLMConfig, layers: tuple[Layer, Layer], weights: list[LayerWeights]) -> None:
        self.config, self.layers = config, layers
        self.recurrent = Product(torch.cat([weights[0].recurrent, weights[1].recurrent], dim=1))  # [D, 2 · 4H]
        sides = [one.projection for one in weights if one.projection is not None]
        self.projection = Product(torch.cat(sides, dim=1))  # [H, 2 D]

    def run(self, x: list[Tensor]) -> list[Tensor]:
        """[steps, D] input for each direction → [steps, D] output for each."""
        forward, backward = self.layers
        gates = torch.stack([forward.input(x[0]), backward.input(x[1])], dim=1)  # [steps, 2, 4H]
        h = torch.cat([forward.h[:1], backward.h[:1]])  # [2, D]
        c2 = torch.cat([forward.c2[:1], backward.c2[:1]])  # [2, H]
        cell_clip, clip = self.config.cell_clip, self.config.projection_clip
        outputs = []
        for now in gates.unbind(0):
            m = remember(diagonal(self.recurrent(h)).add_(now).sigmoid_(), c2, cell_clip)
            h = diagonal(self.projection(m))
            h = h.contiguous() if clip is None else h.clamp(-clip, clip)
            outputs.append(h)
        forward.h, backward.h = h.split_with_sizes([1, 1])
        forward.c2, backward.c2 = c2.split_with_sizes([1, 1])
        return list(torch.stack(outputs, dim=1).unbind(0))


def diagonal(both: Tensor) -> Tensor:
    """[2, 2 N] products of each row with each matrix → [2, N] of each row with its own."""
    width = both.shape[1]
    return both.as_strided((2, width // 2), (width + width // 2, 1))


class Twins:
    """Both directions of a model."""

    def __init__(self, config: BiLMConfig, directions: list[Direction], tensors: Mapping[str, Tensor]) -> None:
        self.config, self.directions = config, directions
        forward, backward = (direction.layers for direction in directions)
        self.layers = [
            TwinLayer(config, pair, [LayerWeights.of(config, tensors, side, number) for side in (0, 1)])
            for number, pair in enumerate(zip(forward, backward, strict=True))
        ]

    def run(
        self,
        batch: Batch,
        rows: list[Tensor],
        table: Tensor,
        starts: list[list[CellState] | None],
        sinks: list[Sink],
    ) -> None:
        """Read a batch of one sentence; everything as ``Direction.run`` has it, once for each direction."""
        for direction, start in zip(self.directions, starts, strict=True):
            for number, layer in enumerate(direction.layers):
                layer.start(1, start[number] if start else None)
        for chunk in batch.chunks(4 * self.config.cell):
            self._run_chunk(chunk, rows, table, sinks)

    def _run_chunk(self, chunk: Chunk, rows: list[Tensor], table: Tensor, sinks: list[Sink]) -> None:
        slots = slice(chunk.start, chunk.stop)
        x = [table.index_select(0, order[slots]) for order in rows]
        for sink, values in zip(sinks, x, strict=True):
            sink(0, slots, values)
        for number, layer in enumerate(self.layers):
            y = layer.run(x)
            x = [a.add_(b) for a, b in zip(x, y, strict=True)] if self.config.skip_connections and number > 0 else y
            for sink, values in zip(sinks, x, strict=True):
                sink(number + 1, slots, values)
