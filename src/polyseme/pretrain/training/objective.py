"""The training objective and its gradients: forward and backward log-likelihood, tokens and softmax shared.

    loss = ½ (forward + backward), the mean over all positions of the cross entropy

A step has three parts. First, the distinct tokens of the batch are encoded once, into a table. Then each direction
reads its rows from the table, predicts, and computes gradients for its own LSTMs, for the table and for the softmax
rows it used. Finally, the two gradients of the table are added and backpropagated through the token encoder once. In
the second part the two directions share nothing, so they can run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from polyseme.bilm_config import BiLMConfig
from polyseme.nn.lstm import CellState
from polyseme.nn.lstm_fused import run_packed
from polyseme.pretrain.training.batches import PackedBatch, Reading
from polyseme.pretrain.training.language_model import LanguageModel, States, lstm_layers
from polyseme.pretrain.training.parallel import Runner, one_after_the_other
from polyseme.pretrain.training.step_softmax import StepSoftmax

#: Dropout of a tensor; one for each direction, because the two run at the same time.
Dropout = Callable[[Tensor], Tensor]
#: Quantiles at which tokens, sorted by length, are cut into groups: most are short, a few are very long.
CUTS = (0.35, 0.65, 0.90)


@dataclass(frozen=True, slots=True)
class Gradients:
    """The result of a batch: summed losses, gradients of the mean loss, states after it."""

    losses: Tensor  # [directions] summed over this process's positions
    network: list[Tensor]  # in the order of LanguageModel.network(); empty if the network is frozen
    weight: Tensor  # [Q, D] for the softmax rows of the step
    bias: Tensor  # [Q]
    states: States

    def plus(self, later: Gradients) -> Gradients:
        """The sum with a later batch of the same step."""
        return Gradients(
            self.losses + later.losses,
            [a + b for a, b in zip(self.network, later.network, strict=True)],
            self.weight + later.weight,
            self.bias + later.bias,
            later.states,
        )


def compute_gradients(
    model: LanguageModel,
    batch: PackedBatch,
    softmax: StepSoftmax,
    states: States,
    *,
    run: Runner,
    dropout: Sequence[Dropout],
    scale: float = 1.0,
) -> Gradients:
    """The losses and gradients of one batch; ``scale`` multiplies the loss before it is differentiated."""
    rows = _softmax_rows(model, softmax)
    weight, bias = rows[:2]
    if not batch.readings:
        zeros = [torch.zeros_like(p) for p in model.network()]
        none = bias.new_zeros(model.bilm.config.directions)
        return Gradients(none, zeros, torch.zeros_like(weight), torch.zeros_like(bias), states)

    types = _EncodedTypes(model, batch.rows, run)
    weigh = scale / (batch.positions * len(batch.readings))  # the mean over positions and directions
    read = [
        partial(_read, model, number, reading, types.table, rows, softmax, states[number], drop, weigh)
        for number, (reading, drop) in enumerate(zip(batch.readings, dropout, strict=True))
    ]
    directions: list[_DirectionGradients] = run(read)
    encoder = types.gradients(sum_of([d.table for d in directions]), run)
    gradients = Gradients(
        losses=torch.stack([d.loss for d in directions]),
        network=encoder + [g for d in directions for g in d.cells] + _sums([d.clusters for d in directions]),
        weight=sum_of([d.weight for d in directions]),
        bias=sum_of([d.bias for d in directions]),
        states=[d.states for d in directions],
    )
    if model.shared_words:
        gradients.network[0].index_add_(0, softmax.rows + 1, gradients.weight)
    return gradients


def compute_softmax_gradients(
    model: LanguageModel, batch: PackedBatch, softmax: StepSoftmax, states: States, *, run: Runner, scale: float = 1.0
) -> Gradients:
    """The same for the softmax alone, without dropout, because it should fit the network as it will be used."""
    weight, bias, *clusters = _softmax_rows(model, softmax)
    if not batch.readings:
        none = bias.new_zeros(model.bilm.config.directions)
        return Gradients(none, [], torch.zeros_like(weight), torch.zeros_like(bias), states)
    outputs, finals = read_without_gradient(model, batch, states, run)
    weigh = scale / (batch.positions * len(batch.readings))

    def fit(number: int) -> tuple[Tensor, Tensor, Tensor]:
        rows = weight.detach().requires_grad_(), bias.detach().requires_grad_()
        with torch.enable_grad():
            loss = softmax.loss(number, outputs[number], [*rows, *clusters], batch.readings[number].targets)
            grads = torch.autograd.grad(loss * weigh, rows)
        return loss.detach(), grads[0], grads[1]

    losses, weights, biases = zip(*run([partial(fit, number) for number in range(len(outputs))]), strict=True)
    return Gradients(torch.stack(losses), [], sum_of(list(weights)), sum_of(list(biases)), finals)


@dataclass(frozen=True, slots=True)
class _DirectionGradients:
    loss: Tensor  # summed
    table: Tensor  # [U, D]
    weight: Tensor  # [Q, D]
    bias: Tensor  # [Q]
    clusters: list[Tensor]
    cells: list[Tensor]
    states: list[CellState]


def _read(
    model: LanguageModel,
    number: int,
    reading: Reading,
    table: Tensor,
    softmax_rows: list[Tensor],
    softmax: StepSoftmax,
    states: list[CellState],
    drop: Dropout,
    weigh: float,
) -> _DirectionGradients:
    """One direction: table rows → LSTM layers → softmax, and back. Nothing here is shared with the other direction."""
    cells = list(model.bilm.directions[number].parameters())
    table, *rows = (t.detach().requires_grad_() for t in (table, *softmax_rows))
    with torch.enable_grad():
        with model.lowered():
            x, finals = _layers(model, number, reading, table, states, drop)
            loss = softmax.loss(number, x, rows, reading.targets)
        grads = torch.autograd.grad(loss * weigh, [table, *rows, *cells])
    own, (weight, bias, *clusters) = list(grads[len(rows) + 1 :]), grads[1 : len(rows) + 1]
    return _DirectionGradients(loss.detach(), grads[0], weight, bias, clusters, own, finals)


def _softmax_rows(model: LanguageModel, softmax: StepSoftmax) -> list[Tensor]:
    """The weight and bias of the rows of this step, then those of the clusters."""
    whole = model.softmax_weight().detach(), model.softmax.bias.detach()
    return [*(t[softmax.rows] for t in whole), *(p.detach() for p in model.softmax.cluster_parameters())]


def _layers(
    model: LanguageModel, number: int, reading: Reading, table: Tensor, states: list[CellState], drop: Dropout
) -> tuple[Tensor, list[CellState]]:
    """One direction through its layers → [R, D] the input of the softmax, and the final state of each layer.

    Dropout is applied to the input of every layer, before the skip connection, and to the top output.
    """
    x = F.embedding(reading.inputs, table)  # [R, D]
    finals = []
    for layer, (cell, state) in enumerate(zip(lstm_layers(model.bilm, number), states, strict=True)):
        x = drop(x)
        y, final = run_packed(cell, x, reading.sizes, state)
        x = y + x if model.bilm.config.skip_connections and layer > 0 else y
        finals.append(final)
    return drop(x), finals


@torch.no_grad()
def read_without_gradient(
    model: LanguageModel, batch: PackedBatch, states: States, run: Runner = one_after_the_other
) -> tuple[list[Tensor], States]:
    """For each direction, the input of the softmax [R, D], and the states after the batch."""
    table = _EncodedTypes(model, batch.rows, run).table
    read = [
        partial(_layers, model, number, reading, table, states[number], _nothing_dropped)
        for number, reading in enumerate(batch.readings)
    ]
    outputs, finals = zip(*run(read), strict=True)
    return list(outputs), list(finals)


def _nothing_dropped(x: Tensor) -> Tensor:
    return x


class _EncodedTypes:
    """The distinct tokens of a batch, encoded once, in groups of similar length; two halves run in parallel."""

    def __init__(self, model: LanguageModel, rows: Tensor, run: Runner) -> None:
        self.model, self.encoder = model, model.bilm.token_encoder
        self.trains = torch.is_grad_enabled()  # a worker thread does not inherit it
        self.groups = trimmed_groups(rows, model.bilm.config, model.padding)
        self.halves = [range(0, len(self.groups), 2), range(1, len(self.groups), 2)]
        encoded: list[list[Tensor]] = run([partial(self._encode, half) for half in self.halves])
        self.outputs = encoded
        self.table = rows.new_empty(len(rows), model.bilm.config.projection, dtype=encoded[0][0].dtype)  # [U, D]
        for half, outputs in zip(self.halves, encoded, strict=True):
            for group, output in zip(half, outputs, strict=True):
                self.table[self.groups[group][0]] = output.detach()

    def gradients(self, table: Tensor, run: Runner) -> list[Tensor]:
        """[U, D] gradient of the table → the gradient of each encoder parameter."""
        halves: list[list[Tensor]] = run([partial(self._differentiate, half, table) for half in (0, 1)])
        return _sums(halves)

    def _encode(self, half: range) -> list[Tensor]:
        with torch.set_grad_enabled(self.trains):
            with self.model.lowered() if self.trains else nullcontext():
                encoded = [self.encoder(self.groups[group][1]) for group in half]
            return [rows.to(self.model.softmax.bias.dtype) for rows in encoded]

    def _differentiate(self, half: int, table: Tensor) -> list[Tensor]:
        parameters = list(self.encoder.parameters())
        if not self.outputs[half]:
            return [torch.zeros_like(p) for p in parameters]
        upstream = [table[self.groups[group][0]] for group in self.halves[half]]
        return list(torch.autograd.grad(self.outputs[half], parameters, upstream))


def _sums(lists: list[list[Tensor]]) -> list[Tensor]:
    return [sum_of(list(tensors)) for tensors in zip(*lists, strict=True)]


def sum_of(tensors: list[Tensor]) -> Tensor:
    """The sum, always in the same order, so that a repeated run gives the same bits."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def trimmed_groups(rows: Tensor, config: BiLMConfig, padding: int) -> list[tuple[Tensor, Tensor]]:
    """[R, K] id rows → groups of (row numbers, trimmed rows), short tokens first; each row is in one group.

    ``padding`` is the id that fills the rest of a row.
    """
    if config.characters is None:
        return [(torch.arange(len(rows), device=rows.device), rows)]
    first = config.row_size - config.characters.max_characters  # the word id, if any, comes before the characters
    lengths = (rows[:, first:] != padding).sum(dim=1)  # [R]
    order = lengths.argsort(stable=True)
    bounds = [0, *(int(cut * len(rows)) for cut in CUTS), len(rows)]
    widest = max(width for width, _ in config.characters.filters)
    groups = []
    for start, stop in pairwise(bounds):
        if start < stop:
            which = order[start:stop]
            columns = int(lengths[which[-1]]) + widest
            groups.append((which, rows[which, : first + columns]))
    return groups
