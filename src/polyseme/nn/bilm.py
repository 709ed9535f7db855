"""The bidirectional language model: a token encoder, and above it a stack of LSTM layers for each direction.

``BiLM`` is the readable network: it trains, it runs on any torch device, and every faster path is tested against it.
In training, its layers read packed rows (``lstm_fused``): the same numbers and gradients, several times faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.bilm_config import BiLMConfig
from polyseme.errors import InputError
from polyseme.formats.arrays import Floats
from polyseme.formats.model import StoredModel
from polyseme.nn.lstm import CellState, ProjectedLSTM
from polyseme.nn.lstm_fused import run_packed
from polyseme.nn.numpy_weights import array_of, tensors_of
from polyseme.nn.token_encoder import TokenEncoder


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the rows of a batch [B, T, …] are when it is packed."""

    rows: Tensor  # [R] positions in [B · T]
    sizes: tuple[int, ...]  #: for each step, the number of sentences that reach it
    order: Tensor  # [sizes[0]] sentences, longest first; empty ones are left out

    @classmethod
    def of(cls, lengths: Tensor, positions: int) -> Packing:
        """From the lengths [B] of sentences that begin at position 0 of T."""
        order = torch.argsort(lengths, descending=True, stable=True)
        step = torch.arange(positions, device=lengths.device)[:, None]  # [T, 1]
        is_there = step < lengths[order][None, :]  # [T, B]
        rows = (order[None, :] * positions + step)[is_there]
        sizes = tuple(size for size in is_there.sum(dim=1).tolist() if size)
        return cls(rows, sizes, order[: sizes[0] if sizes else 0])

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, D] → [R, D]"""
        return x.flatten(0, 1)[self.rows]

    def unpack(self, y: Tensor, like: Tensor) -> Tensor:
        """[R, D] → [B, T, D] like ``like``, zeros for padding."""
        empty = y.new_zeros(like.shape[0] * like.shape[1], y.shape[1])
        return empty.index_copy(0, self.rows, y).view(*like.shape[:2], y.shape[1])


@dataclass(frozen=True, slots=True)
class BiLMState:
    """The state of every layer and direction after reading, for each sentence."""

    h: Tensor  # [directions, L, B, D]
    c: Tensor  # [directions, L, B, H]

    def cell(self, direction: int, layer: int) -> CellState:
        return CellState(self.h[direction, layer], self.c[direction, layer])

    def rows(self, count: int) -> BiLMState:
        """The first ``count`` sentences, filled up with zeros."""
        missing = count - self.h.shape[2]
        if missing <= 0:
            return BiLMState(self.h[:, :, :count], self.c[:, :, :count])
        return BiLMState(*(torch.nn.functional.pad(s, (0, 0, 0, missing)) for s in (self.h, self.c)))

    def expand(self, count: int) -> BiLMState:
        """One sentence's state, for ``count`` sentences."""
        return BiLMState(self.h.expand(-1, -1, count, -1), self.c.expand(-1, -1, count, -1))

    def replace_rows(self, new: BiLMState) -> BiLMState:
        """This state with its first rows replaced by ``new``, which is how the originals carry state."""
        count = new.h.shape[2]
        return BiLMState(
            torch.cat([new.h, self.h[:, :, count:]], dim=2), torch.cat([new.c, self.c[:, :, count:]], dim=2)
        )


@dataclass(frozen=True, slots=True)
class BiLMOutput:
    """The output of a biLM for a batch; sentence boundaries are positions like any other here."""

    layers: Tensor  # [L+1, B, T, W], zeros for padding
    mask: Tensor  # [B, T] bool
    lengths: Tensor  # [B] positions with boundaries
    state: BiLMState  # after the last position of each sentence; in training no gradient flows through it

    def without_boundaries(self) -> tuple[Tensor, Tensor]:
        """Layers [L+1, B, N, W] and mask [B, N] without the boundaries."""
        mask = self.mask[:, 2:]  # a sentence of n positions has n − 2 tokens, at 1 … n − 2
        return self.layers[:, :, 1:-1] * mask[:, :, None], mask


class Direction(nn.Module):
    """The stack of LSTM layers of one direction."""

    cells: nn.ModuleList

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.skip_connections = config.skip_connections
        self.cells = nn.ModuleList(ProjectedLSTM(config) for _ in range(config.layers))

    def forward(self, x: Tensor, mask: Tensor, states: list[CellState]) -> tuple[list[Tensor], list[CellState]]:
        """[B, T, D] tokens in reading order → L outputs [B, T, D] and L final states."""
        outputs, finals = [], []
        for layer, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            y, final = cell(x, mask, state)
            # The sum is what the next layer and the user see; the recurrence itself never sees it.
            x = y + x * mask[:, :, None] if self.skip_connections and layer > 0 else y
            outputs.append(x)
            finals.append(final)
        return outputs, finals

    def read_packed(self, x: Tensor, packing: Packing, states: list[CellState]) -> tuple[list[Tensor], list[CellState]]:
        """The same, with the fused LSTM."""
        outputs, finals = [], []
        rows = packing.pack(x)  # [R, D]
        for layer, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            assert isinstance(cell, ProjectedLSTM)
            start = CellState(state.h[packing.order], state.c[packing.order])
            y, final = run_packed(cell, rows, packing.sizes, start)
            rows = y + rows if self.skip_connections and layer > 0 else y
            outputs.append(packing.unpack(rows, x))
            finals.append(CellState(*(s.index_copy(0, packing.order, f) for s, f in zip(state, final, strict=True))))
        return outputs, finals


class BiLM(nn.Module):
    """Ids → layers.

    ``BiLM(BiLMConfig(characters=CharacterConfig(alphabet=261), cell=64, projection=16))(ids).layers`` has the
    shape [3, B, T, 32].
    """

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.config = config
        self.token_encoder = TokenEncoder(config)
        self.directions = nn.ModuleList(Direction(config) for _ in range(config.directions))

    @classmethod
    def of(cls, stored: StoredModel) -> BiLM:
        """The network with the weights of a stored model, in evaluation mode."""
        bilm = cls(stored.config)
        bilm.load_state_dict(tensors_of(stored.tensors))
        return bilm.eval()

    def arrays(self) -> dict[str, Floats]:
        """A copy of the current weights, by name."""
        return {name: array_of(tensor) for name, tensor in self.state_dict().items()}

    def forward(self, ids: Tensor, state: BiLMState | None = None) -> BiLMOutput:
        """[B, T, K] ids with boundaries, rows of zeros as padding on the right → ``BiLMOutput``.

        ``state`` is the initial state; by default every sentence starts from zero.
        """
        if ids.dim() != 3 or ids.shape[2] != self.config.row_size:
            raise InputError(
                f"the ids have shape {list(ids.shape)}, but this model reads [sentences, positions, "
                f"{self.config.row_size}]: one row of {self.config.row_size} ids for each token"
            )
        mask = (ids > 0).any(dim=2)  # [B, T]
        lengths = mask.sum(dim=1)  # [B]
        state = state or self.zero_state(ids.shape[0])
        tokens = self.encode_tokens(ids) * mask[:, :, None]  # [B, T, D]
        backwards = reversal(lengths, ids.shape[1])  # [B, T]
        packing = Packing.of(lengths, ids.shape[1]) if self._trains(state) else None
        by_direction, hs, cs = [], [], []
        for number, direction in enumerate(self.directions):
            assert isinstance(direction, Direction)
            x = tokens if number == 0 else reorder(tokens, backwards)
            starts = [state.cell(number, layer) for layer in range(self.config.layers)]
            if packing is not None and packing.sizes:
                outputs, finals = direction.read_packed(x, packing, starts)
            else:
                outputs, finals = direction(x, mask, starts)
            by_direction.append(outputs if number == 0 else [reorder(y, backwards) for y in outputs])
            hs.append(torch.stack([final.h for final in finals]))
            cs.append(torch.stack([final.c for final in finals]))
        layers = [torch.cat([tokens] * self.config.directions, dim=2)]
        layers += [torch.cat(outputs, dim=2) for outputs in zip(*by_direction, strict=True)]
        return BiLMOutput(torch.stack(layers), mask, lengths, BiLMState(torch.stack(hs), torch.stack(cs)))

    def _trains(self, state: BiLMState) -> bool:
        """Whether gradients are needed, but not those of the states, which the fused LSTM does not compute."""
        return self.training and torch.is_grad_enabled() and not (state.h.requires_grad or state.c.requires_grad)

    def encode_tokens(self, ids: Tensor) -> Tensor:
        """[B, T, K] ids → [B, T, D], each distinct token encoded once."""
        rows, where = torch.unique(ids.flatten(0, 1), dim=0, return_inverse=True)  # [R, K], [B·T]
        encoded: Tensor = self.token_encoder(rows)  # [R, D]
        return encoded[where].view(*ids.shape[:2], self.config.projection)

    def zero_state(self, sentences: int) -> BiLMState:
        """The state of a model that has read nothing yet."""
        config = self.config
        weight = next(self.parameters())
        shape = (config.directions, config.layers, sentences)
        return BiLMState(weight.new_zeros(*shape, config.projection), weight.new_zeros(*shape, config.cell))


def reversal(lengths: Tensor, positions: int) -> Tensor:
    """[B] lengths → [B, T] the order that reverses each sentence within its own length; padding stays in place."""
    t = torch.arange(positions, device=lengths.device)[None, :]  # [1, T]
    return torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)


def reorder(x: Tensor, order: Tensor) -> Tensor:
    """[B, T, D] rows of each sentence in the given [B, T] order."""
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2]))
