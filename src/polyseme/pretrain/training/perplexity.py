"""How well a language model predicts unseen text: exact, with the full softmax, in both directions.

The numbers are those of ``polyseme.lm.scoring``, but for a model in training: computed by PyTorch on its device, as a
likelihood (``polyseme.lm.likelihood``) for each sentence.

Sentences are read from a zero state, from one fixed state, or from the state after the previous sentence, as training
with windows reads them: the forward direction never reads ``</S>``, the backward direction never ``<S>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from polyseme.lm.likelihood import Likelihood, written_bytes
from polyseme.nn.bilm import BiLM
from polyseme.nn.lstm import CellState
from polyseme.nn.softmax import target_log_probabilities
from polyseme.pretrain.training.batches import PackedBatch, Reading, Types, TypeTable, pack_sentences
from polyseme.pretrain.training.language_model import LanguageModel, States, lstm_layers, zero_states
from polyseme.pretrain.training.objective import read_without_gradient
from polyseme.pretrain.training.parallel import Runner, one_after_the_other
from polyseme.sentence_reader import WARM_TEXT
from polyseme.text.vocabulary import UNKNOWN, Indexer, Vocabulary

#: Positions read together in evaluation; the result does not depend on it.
BATCH_POSITIONS = 4096


def evaluate(
    model: LanguageModel,
    sentences: Sequence[Sequence[str]],
    vocabulary: Vocabulary,
    indexer: Indexer,
    run: Runner = one_after_the_other,
    *,
    start: States | None = None,
) -> list[Likelihood]:
    """The likelihood of each sentence by itself, from a zero state or from ``start``, the state of one sequence."""
    typed = _Typed(sentences, vocabulary, indexer)
    results = [Likelihood()] * len(sentences)
    for chosen in batches_by_length([len(s) for s in sentences]):
        states = None if start is None else _rows(start, torch.zeros(len(chosen), dtype=torch.int64))
        found, _ = typed.evaluate(model, chosen, states, run)
        for i, likelihood in zip(chosen, found, strict=True):
            results[i] = likelihood
    return results


def evaluate_in_order(
    model: LanguageModel,
    documents: Sequence[Sequence[Sequence[str]]],
    vocabulary: Vocabulary,
    indexer: Indexer,
    run: Runner = one_after_the_other,
) -> list[list[Likelihood]]:
    """The likelihood of each sentence of each document; a sentence starts from the state after the previous one."""
    typed = _Typed([s for document in documents for s in document], vocabulary, indexer)
    firsts = np.cumsum([0, *(len(document) for document in documents)]).tolist()
    results = [[Likelihood()] * len(document) for document in documents]
    kept = [[cell.zero_state(len(documents)) for cell in lstm_layers(model.bilm, d)] for d in _directions(model.bilm)]
    for turn in range(max((len(document) for document in documents), default=0)):
        here = [d for d, document in enumerate(documents) if len(document) > turn]
        for batch in batches_by_length([len(documents[d][turn]) for d in here]):
            chosen = [here[i] for i in batch]
            rows = torch.tensor(chosen)
            found, finals = typed.evaluate(model, [firsts[d] + turn for d in chosen], _rows(kept, rows), run)
            _put_rows(kept, rows, finals)
            for d, likelihood in zip(chosen, found, strict=True):
                results[d][turn] = likelihood
    return results


@torch.no_grad()
def warm_states(model: LanguageModel, indexer: Indexer, text: str = WARM_TEXT) -> States:
    """The state from which ``Elmo`` starts every sentence with ``state="warm"``, as the state of one sequence."""
    state = model.bilm(torch.from_numpy(indexer.batch([text.split()])).to(model.device)).state
    layers = range(model.bilm.config.layers)
    return [[state.cell(direction, layer) for layer in layers] for direction in _directions(model.bilm)]


class _Typed:
    """Sentences as numbers of distinct tokens."""

    def __init__(self, sentences: Sequence[Sequence[str]], vocabulary: Vocabulary, indexer: Indexer) -> None:
        numbers: dict[str, int] = {}
        self.sentences = sentences
        self.types: list[Types] = [
            np.array([numbers.setdefault(t, len(numbers)) for t in s], np.int64) for s in sentences
        ]
        self.table = TypeTable.of_tokens(list(numbers), vocabulary, indexer)
        self.unknown = vocabulary.ids([UNKNOWN])[0]

    def evaluate(
        self, model: LanguageModel, chosen: Sequence[int], states: States | None, run: Runner
    ) -> tuple[list[Likelihood], States]:
        """The likelihoods of the chosen sentences, longest first, and the states after them."""
        directions = model.bilm.config.directions
        types = [self.types[i] for i in chosen]
        batch = pack_sentences(types, self.table, directions=directions, share=slice(None)).to(model.device)
        found, finals = log_probabilities(model, batch, states or zero_states(model.bilm, batch), run)
        sums = [_per_sequence(one, batch.readings[0].sizes) for one in found]
        likelihoods = [
            Likelihood(
                forward=float(sums[0][row]),
                backward=float(sums[1][row]) if directions == 2 else None,
                predictions=len(self.sentences[i]) + 1,
                tokens=len(self.sentences[i]),
                unknown=int((self.table.targets(self.types[i]) == self.unknown).sum()),
                bytes=written_bytes(" ".join(self.sentences[i])),
            )
            for row, i in enumerate(chosen)
        ]
        return likelihoods, finals


def batches_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of the sentences to read together, longest first."""
    batches: list[list[int]] = []
    room = 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or lengths[i] + 1 > room:
            batches.append([])
            room = BATCH_POSITIONS
        batches[-1].append(i)
        room -= lengths[i] + 1
    return batches


@torch.no_grad()
def log_probabilities(
    model: LanguageModel, batch: PackedBatch, states: States, run: Runner = one_after_the_other
) -> tuple[list[Tensor], States]:
    """For each direction, the log-probability of each target [R], and the states after the batch."""
    weight, bias, clusters = model.softmax_weight(), model.softmax.bias, model.softmax.clusters()

    def ask(h: Tensor, reading: Reading) -> Tensor:
        return target_log_probabilities(h, weight, bias, reading.targets, clusters)

    found: list[list[Tensor]] = []
    for piece in _pieces(batch):
        rows = torch.arange(piece.readings[0].sizes[0])
        outputs, finals = read_without_gradient(model, piece, _rows(states, rows), run)
        pairs = zip(outputs, piece.readings, strict=True)
        found.append(run([lambda h=h, reading=reading: ask(h, reading) for h, reading in pairs]))  # type: ignore[misc]
        states = [[CellState(h.clone(), c.clone()) for h, c in layers] for layers in states]
        _put_rows(states, rows, finals)
    return [torch.cat(parts) for parts in zip(*found, strict=True)], states


def _pieces(batch: PackedBatch) -> Iterator[PackedBatch]:
    """A batch split into batches of consecutive steps, which bounds memory for sentences of any length."""
    sizes = batch.readings[0].sizes
    if sum(sizes) <= BATCH_POSITIONS:
        yield batch
        return
    first, start = 0, 0  # step, row
    while first < len(sizes):
        last, stop = first + 1, start + sizes[first]
        while last < len(sizes) and stop + sizes[last] - start <= BATCH_POSITIONS:
            stop += sizes[last]
            last += 1
        inputs = torch.cat([reading.inputs[start:stop] for reading in batch.readings])
        distinct, where = torch.unique(inputs, return_inverse=True)
        readings = tuple(
            Reading(inputs, reading.targets[start:stop], sizes[first:last])
            for inputs, reading in zip(where.chunk(len(batch.readings)), batch.readings, strict=True)
        )
        yield replace(batch, rows=batch.rows[distinct], readings=readings)
        first, start = last, stop


def _rows(states: States, rows: Tensor) -> States:
    """The states of some sequences."""
    return [[CellState(h[rows], c[rows]) for h, c in layers] for layers in states]


def _put_rows(states: States, rows: Tensor, new: States) -> None:
    """Replace the states of some sequences."""
    for layers, new_layers in zip(states, new, strict=True):
        for old, state in zip(layers, new_layers, strict=True):
            old.h[rows], old.c[rows] = state.h, state.c


def _directions(bilm: BiLM) -> range:
    return range(bilm.config.directions)


def _per_sequence(values: Tensor, sizes: Sequence[int]) -> Tensor:
    """[R] packed values → [B] sums over each sequence, in float64."""
    sums = values.new_zeros(sizes[0], dtype=torch.float64)
    for step in torch.split(values, list(sizes)):
        sums[: len(step)] += step
    return sums
