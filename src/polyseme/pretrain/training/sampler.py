"""Samplers decide the order in which a corpus is read: shuffled batches of sentences, or windows of running text.

Every choice depends only on the seed and the position, so a resumed run continues with exactly the batch that would
have come next. A position is a few numbers; ``Sampler.position`` is saved in checkpoints and can be set.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.pretrain.recipe import TextChoice
from polyseme.pretrain.training.batches import PackedBatch, Types, TypeTable, pack_sentences, pack_windows

#: Sentences sorted by length together, so that a batch holds sentences of similar length.
POOL = 4096
#: Neighbouring sentences that stay together when shuffled: one disk read, and a small permutation in memory.
BLOCK = 32


class Sampler(Protocol):
    """An endless stream of batches, and the position in it."""

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
    """The sampler of a recipe for the first ``sentences`` of a corpus; ``share`` is (rank, number of processes)."""
    all_have: dict[str, Any] = {"sentences": sentences, "directions": directions, "seed": seed, "share": share}
    if choice.read == "windows":
        return WindowSampler(corpus, table, rows=choice.rows, steps=choice.steps, shuffle=choice.shuffle, **all_have)
    all_have |= {"tokens": choice.tokens, "max_length": choice.max_length}
    return SentenceSampler(corpus, table, together=choice.together, capitals=choice.capitals, **all_have)


class SentenceSampler:
    """Batches of about ``tokens`` positions from the first ``sentences`` of a corpus, each sentence once per epoch.

    Up to ``together`` neighbouring sentences of a document are read as one, and split into pieces of at most
    ``max_length`` tokens; a share of ``capitals`` of the pieces is read as if written in capitals.

    Sentences are shuffled in blocks and sorted by length within pools; then the batches of a pool are shuffled.
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
        """The shuffled numbers of all blocks of sentences, divided into pools."""
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
        order = random.permutation(len(pieces))  # so that equally long ones are batched anew in every epoch
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
        """The sentences [begin, end) in groups that are read as one; no group crosses a document boundary."""
        documents = self.corpus.documents
        bounds = documents[np.searchsorted(documents, begin, "right") : np.searchsorted(documents, end)].tolist()
        parts = pairwise([begin, *bounds, end])
        step = self.together
        return [(i, min(i + step, stop)) for start, stop in parts for i in range(start, stop, step)]


class WindowSampler:
    """The original's batches: ``rows`` streams of text, ``steps`` positions of each at a time.

    A row that has finished its sentence takes the next one in the epoch's order; only the boundary tokens mark where
    one sentence ends and the next begins. The backward direction reads the same order, with each sentence reversed, so
    that a batch has few distinct tokens. ``shuffle`` draws a new order for every epoch.
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
        nowhere = {"epoch": 0, "next": 0, "rows": [(-1, 0)] * rows}  # for each row: its sentence, positions read
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
        """The sentences of an epoch in reading order; cached for the two epochs that the directions may be in."""
        if epoch not in self._orders:
            random = np.random.default_rng([self.seed, epoch])
            order = random.permutation(self.sentences) if self.shuffle else np.arange(self.sentences)
            self._orders = {kept: self._orders[kept] for kept in self._orders if kept == epoch - 1} | {epoch: order}
        return self._orders[epoch]
