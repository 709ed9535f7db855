"""Samplers: in which order a corpus is read, whole sentences in shuffled batches, or windows of running text.

Every choice follows from the seed and the position alone, so that a run that was stopped goes on with the very batch
it would have had. A position is a few numbers; ``Sampler.position`` gives it for a checkpoint and takes it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.pretrain.recipe import TextChoice
from polyseme.pretrain.training.batches import PackedBatch, Types, TypeTable, pack_sentences, pack_windows

#: Sentences that are sorted by length together, so that a batch holds sentences of similar length.
POOL = 4096
#: Neighbouring sentences that stay together in the shuffled order: one disk read, and an order of little memory.
BLOCK = 32


class Sampler(Protocol):
    """Endless batches, and where they stand."""

    position: dict[str, Any]

    def __iter__(self) -> Iterator[PackedBatch]: ...


def new_sampler(
    choice: TextChoice,
    corpus: Corpus,
    table: TypeTable,
    sentences: int,
    directions: int,
    seed: int,
    share: tuple[int, int] = (0, 1),
) -> Sampler:
    """What a recipe says, for the first ``sentences`` of a corpus; ``share``: the number of a process, and of all."""
    all_have: dict[str, Any] = {"sentences": sentences, "directions": directions, "seed": seed, "share": share}
    if choice.read == "windows":
        return WindowSampler(corpus, table, rows=choice.rows, steps=choice.steps, shuffle=choice.shuffle, **all_have)
    all_have |= {"tokens": choice.tokens, "max_length": choice.max_length}
    return SentenceSampler(corpus, table, together=choice.together, capitals=choice.capitals, **all_have)


class SentenceSampler:
    """Batches of about ``tokens`` positions of the first ``sentences`` of a corpus, each sentence once an epoch.

    Up to ``together`` neighbouring sentences of a document are read as one; what is over ``max_length`` is read in
    pieces; a share of ``capitals`` of these is read as if it were written in capitals.

    Sentences are shuffled in blocks, sorted by length within pools, and the batches of a pool shuffled again.
    """

    def __init__(
        self,
        corpus: Corpus,
        table: TypeTable,
        *,
        sentences: int,
        tokens: int,
        max_length: int,
        together: int,
        capitals: float,
        directions: int,
        seed: int,
        share: tuple[int, int],
    ) -> None:
        self.corpus, self.table, self.sentences = corpus, table, sentences
        self.tokens, self.max_length, self.directions, self.seed = tokens, max_length, directions, seed
        self.together, self.capitals = together, capitals
        self.share = slice(share[0], None, share[1])
        self.position = {"epoch": 0, "pool": 0, "batch": 0}

    def __iter__(self) -> Iterator[PackedBatch]:
        at = self.position
        while True:
            pools = self._pools(at["epoch"])
            while at["pool"] < len(pools):
                plan = self._plan(pools[at["pool"]], np.random.default_rng([self.seed, at["epoch"], at["pool"]]))
                while at["batch"] < len(plan):
                    at["batch"] += 1
                    yield pack_sentences(
                        plan[at["batch"] - 1], self.table, directions=self.directions, share=self.share
                    )
                at.update(pool=at["pool"] + 1, batch=0)
            at.update(epoch=at["epoch"] + 1, pool=0)

    def _pools(self, epoch: int) -> list[Types]:
        """The numbers of the sentences, pool after pool, as blocks: [first sentence of each block]."""
        blocks = -(-self.sentences // BLOCK)
        order = np.random.default_rng([self.seed, epoch]).permutation(blocks)
        return np.array_split(order, -(-blocks * BLOCK // POOL))

    def _plan(self, blocks: Types, random: np.random.Generator) -> list[list[Types]]:
        """The batches of one pool."""
        pieces = []
        for block in blocks:
            for first, last in self._groups(block * BLOCK, min((block + 1) * BLOCK, self.sentences)):
                text = np.concatenate([self.corpus.sentence(number) for number in range(first, last)]).astype(np.int64)
                pieces += [text[i : i + self.max_length] for i in range(0, len(text), self.max_length)]
        self.corpus.release()
        order = random.permutation(len(pieces))  # so that equally long sentences meet others in every epoch
        if self.capitals:
            pieces = [
                self.table.in_capitals(piece) if in_capitals else piece
                for piece, in_capitals in zip(pieces, random.random(len(pieces)) < self.capitals, strict=True)
            ]
        pieces = sorted((pieces[i] for i in order), key=len, reverse=True)
        batches: list[list[Types]] = [[]]
        room = self.tokens
        for piece in pieces:
            if batches[-1] and len(piece) + 1 > room:
                batches.append([])
                room = self.tokens
            batches[-1].append(piece)
            room -= len(piece) + 1
        return [batches[i] for i in random.permutation(len(batches))]

    def _groups(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Sentences ``begin`` to ``end`` in groups that are read as one, none of them across two documents."""
        documents = self.corpus.documents
        bounds = documents[np.searchsorted(documents, begin, "right") : np.searchsorted(documents, end)].tolist()
        parts = pairwise([begin, *bounds, end])
        step = self.together
        return [(i, min(i + step, stop)) for start, stop in parts for i in range(start, stop, step)]


class WindowSampler:
    """The original's batches: ``rows`` streams of text, ``steps`` positions of each at a time.

    A row that has read its sentence takes the next one of the epoch's order; nothing marks the place where one
    sentence ends and the next begins but the boundaries. The backward direction reads the same order, each sentence
    reversed, so that a batch has few distinct tokens. ``shuffle`` draws a new order for every epoch.
    """

    def __init__(
        self,
        corpus: Corpus,
        table: TypeTable,
        *,
        sentences: int,
        rows: int,
        steps: int,
        directions: int,
        seed: int,
        share: tuple[int, int],
        shuffle: bool = True,
    ) -> None:
        self.corpus, self.table, self.sentences = corpus, table, sentences
        self.rows, self.steps, self.directions = rows, steps, directions
        self.seed, self.shuffle = seed, shuffle
        rank, world = share
        self.share = slice(rank * rows // world, (rank + 1) * rows // world)
        self._orders: dict[int, Types] = {}
        nowhere = {"epoch": 0, "next": 0, "rows": [(-1, 0)] * rows}  # of each row: its sentence, positions read
        self.position: dict[str, Any] = {"epoch": 0, "streams": [dict(nowhere) for _ in range(directions)]}

    def __iter__(self) -> Iterator[PackedBatch]:
        while True:
            windows = [self._window(d) for d in range(self.directions)]
            self.position["epoch"] = self.position["streams"][0]["epoch"]
            yield pack_windows(windows, self.table, share=self.share)

    def _window(self, direction: int) -> tuple[Types, Types]:
        """Inputs and targets [rows, steps] of one direction."""
        stream = self.position["streams"][direction]
        inputs, targets = (np.empty((self.rows, self.steps), np.int64) for _ in range(2))
        standing = []
        for row, (sentence, read) in enumerate(stream["rows"]):
            filled = 0
            while filled < self.steps:
                text = self._text(sentence, direction) if sentence >= 0 else np.empty(0, np.int64)
                if len(text) - read <= 1:
                    sentence, read = self._next(stream), 0
                    continue
                count = min(len(text) - 1 - read, self.steps - filled)
                inputs[row, filled : filled + count] = text[read : read + count]
                targets[row, filled : filled + count] = text[read + 1 : read + 1 + count]
                read, filled = read + count, filled + count
            standing.append((sentence, read))
        stream["rows"] = standing
        return inputs, targets

    def _text(self, sentence: int, direction: int) -> Types:
        text = np.concatenate(([self.table.begin], self.corpus.sentence(sentence), [self.table.end])).astype(np.int64)
        return text[::-1] if direction else text

    def _next(self, stream: dict[str, Any]) -> int:
        if stream["next"] == self.sentences:
            stream.update(epoch=stream["epoch"] + 1, next=0)
        stream["next"] += 1
        if stream["next"] % POOL == 0:
            self.corpus.release()
        return int(self._epoch_order(stream["epoch"])[stream["next"] - 1])

    def _epoch_order(self, epoch: int) -> Types:
        """The sentences of an epoch in reading order; kept for the two epochs that the directions may be in."""
        if epoch not in self._orders:
            random = np.random.default_rng([self.seed, epoch])
            order = random.permutation(self.sentences) if self.shuffle else np.arange(self.sentences)
            self._orders = {kept: self._orders[kept] for kept in self._orders if kept == epoch - 1} | {epoch: order}
        return self._orders[epoch]
