"""Sentences → a batch: two readings, packed time-major, over one set of distinct tokens.

    forward    <S> w1 w2 … wn       predicts   w1 w2 … wn </S>
    backward   </S> wn … w2 w1      predicts   wn … w2 w1 <S>

A batch is one process's share of a step. It also describes the whole step, so that every process can weight its loss
and knows which softmax rows the step uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.text.vocabulary import BEGIN, END, Indexer, Vocabulary

Types = npt.NDArray[np.int64]

#: Rows of character ids that are cached; rows of further types are computed again each time.
KEPT_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Reading:
    """What one direction reads in a step, packed time-major."""

    inputs: Tensor  # [R] indexes into PackedBatch.rows
    targets: Tensor  # [R] word ids of the softmax
    sizes: tuple[int, ...]  # number of sequences at each time step


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """One process's share of a step."""

    rows: Tensor  # [U, K] id rows of the distinct tokens
    readings: tuple[Reading, ...]  # forward, backward; empty if the process has no share
    positions: int  #: predictions of one direction in the whole step, over all processes
    tokens: int  #: tokens in the whole step, without boundaries
    targets: Tensor  #: distinct word ids of the whole step, increasing

    def to(self, device: torch.device) -> PackedBatch:
        """The batch on another device."""
        readings = tuple(Reading(r.inputs.to(device), r.targets.to(device), r.sizes) for r in self.readings)
        return replace(self, rows=self.rows.to(device), readings=readings, targets=self.targets.to(device))


class TypeTable:
    """Numbered types as id rows and softmax targets: distinct tokens, the two boundaries, the tokens in capitals.

    The target of a token in capitals is the token itself.
    """

    def __init__(
        self,
        count: int,
        spelling: Callable[[int], str],
        targets: npt.NDArray[Any],
        vocabulary: Vocabulary,
        indexer: Indexer,
    ) -> None:
        self.indexer = indexer
        self.begin, self.end, self._capitals = count, count + 1, count + 2
        self._spelling, self._targets = spelling, targets
        self._boundary_targets = np.array(vocabulary.ids([BEGIN, END]))
        self._row = lru_cache(KEPT_ROWS)(self._spell)

    @classmethod
    def of_corpus(cls, corpus: Corpus, indexer: Indexer) -> TypeTable:
        """The types of a prepared corpus, under its own numbers."""
        return cls(corpus.meta.types, corpus.type, corpus.targets, corpus.vocabulary, indexer)

    @classmethod
    def of_tokens(cls, tokens: Sequence[str], vocabulary: Vocabulary, indexer: Indexer) -> TypeTable:
        """Distinct tokens, numbered in the given order."""
        return cls(len(tokens), tokens.__getitem__, np.array(vocabulary.ids(tokens), np.int64), vocabulary, indexer)

    def rows(self, types: Types) -> Tensor:
        """[U] types → [U, K] ids"""
        return torch.from_numpy(np.stack([self._row(int(t)) for t in types]).astype(np.int64))

    def in_capitals(self, types: Types) -> Types:
        """The same tokens, read as if written in capitals."""
        return types + self._capitals

    def targets(self, types: Types) -> Types:
        """[R] types → [R] word ids"""
        types = np.where(types >= self._capitals, types - self._capitals, types)
        boundary = types >= self.begin
        found = np.empty(len(types), np.int64)
        found[~boundary] = self._targets[types[~boundary]]
        found[boundary] = self._boundary_targets[types[boundary] - self.begin]
        return found

    def _spell(self, number: int) -> npt.NDArray[np.int32]:
        if number == self.begin:
            row = self.indexer.begin_row()
        elif number == self.end:
            row = self.indexer.end_row()
        elif number < self._capitals:
            row = self.indexer.row(self._spelling(number))
        else:
            row = self.indexer.row(self._spelling(number - self._capitals).upper())
        return np.array(row, dtype=np.int32)


def pack_sentences(sentences: Sequence[Types], table: TypeTable, *, directions: int, share: slice) -> PackedBatch:
    """Sentences, longest first, each read from the zero state; ``share`` selects those of this process."""
    mine = sentences[share]
    whole = np.unique(table.targets(np.concatenate([*sentences, [table.begin, table.end]])))
    tokens = sum(len(s) for s in sentences)
    readings = [_read_sentences(mine, table, backward=d == 1) for d in range(directions)] if mine else []
    return _batch(readings, table, positions=tokens + len(sentences), tokens=tokens, whole=whole)


def pack_windows(windows: Sequence[tuple[Types, Types]], table: TypeTable, *, share: slice) -> PackedBatch:
    """For each direction, inputs and targets [B, T]: every row continues where it stopped."""
    whole = np.unique(table.targets(np.concatenate([targets.ravel() for _, targets in windows])))
    readings = []
    for inputs, targets in windows:
        rows = inputs[share].shape[0]
        readings.append((inputs[share].T.ravel(), targets[share].T.ravel(), (rows,) * inputs.shape[1]))
    first = windows[0][1]
    return _batch(readings, table, positions=first.size, tokens=int((first < table.begin).sum()), whole=whole)


#: Types read, types to predict, sizes.
_Typed = tuple[Types, Types, tuple[int, ...]]


def _read_sentences(sentences: Sequence[Types], table: TypeTable, *, backward: bool) -> _Typed:
    first, last = (table.end, table.begin) if backward else (table.begin, table.end)
    texts = [s[::-1] if backward else s for s in sentences]
    lengths = np.array([len(s) + 1 for s in sentences])
    mask = np.arange(lengths[0]) < lengths[:, None]  # [B, T]
    inputs, targets = np.zeros(mask.shape, np.int64), np.zeros(mask.shape, np.int64)
    inputs[mask] = np.concatenate([np.concatenate(([first], s)) for s in texts])
    targets[mask] = np.concatenate([np.concatenate((s, [last])) for s in texts])
    return inputs.T[mask.T], targets.T[mask.T], tuple(int(n) for n in mask.sum(axis=0))


def _batch(readings: Sequence[_Typed], table: TypeTable, *, positions: int, tokens: int, whole: Types) -> PackedBatch:
    if not readings:
        return PackedBatch(torch.empty(0, table.indexer.row_size), (), positions, tokens, torch.from_numpy(whole))
    distinct, where = np.unique(np.concatenate([inputs for inputs, _, _ in readings]), return_inverse=True)
    starts = np.cumsum([0, *(len(inputs) for inputs, _, _ in readings)])
    packed = tuple(
        Reading(torch.from_numpy(where[start:stop]), torch.from_numpy(table.targets(targets)), sizes)
        for (start, stop), (_, targets, sizes) in zip(pairwise(starts), readings, strict=True)
    )
    return PackedBatch(table.rows(distinct), packed, positions, tokens, torch.from_numpy(whole))
