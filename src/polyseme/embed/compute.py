"""Sentences → records, window by window; a part is closed whenever it is full.

Which sentences are encoded together and which make a part follows from the input alone, never from the clock: a job
that was killed makes the same windows again, and so the same bits, even on a device where a batch-mate matters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyseme.embed.description import Offsets, Options, Passage, Position, Shard, read_passages
from polyseme.embed.parts import COMPLETE, PartWriter, find_parts, part_path, read_trailer, whole_trailer
from polyseme.embed.records import Floats, Record, choose_layers
from polyseme.errors import InputError
from polyseme.text.readers import Document

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

_WINDOW_BYTES = 64 << 20  # of layers that the engine returns at once
_WINDOW_TOKENS = 4096  # more gave no more speed (2048 gave 15 % less)
_PART_BYTES = 128 << 20
_PART_TOKENS = 65_536  # seconds to a minute of work: what a kill can cost
#: Tokens whose vectors are kept: with more, memory would grow with the input for hours; all of them gain 2 % in speed.
KEPT_TOKENS = 16_384
_SCAN_TOKENS = 1 << 20  # of a part in which hardly a sentence has a target word


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """How many tokens are encoded together, and how many make a part."""

    window: int
    part: int

    @classmethod
    def for_model(cls, elmo: Elmo, options: Options) -> WindowLimits:
        layer = elmo.config.width * 4  # bytes of a token
        window = _WINDOW_BYTES // (layer * (elmo.config.layers + 1))
        kept = layer * (elmo.config.layers + 1 if options.layers == "all" else 1)
        return cls(window=min(max(window, 2048), _WINDOW_TOKENS), part=min(_PART_TOKENS, _PART_BYTES // kept))


def compute_records(
    documents: Iterable[Document], elmo: Elmo, options: Options, shard: Shard, limits: WindowLimits
) -> Iterator[Record]:
    """Encode the share of the documents, record by record."""
    make_records = RecordMaker(options)
    for window in plan_windows(read_passages(documents, elmo.split, shard=shard), options, limits):
        for passage, layers in encode_window(elmo, window):
            yield from make_records(passage, layers)


@dataclass(frozen=True, slots=True)
class Window:
    """Sentences to be encoded together, and where the job stands after them."""

    passages: list[Passage]
    next: Position
    ends_part: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What a run has encoded."""

    sentences: int = 0
    tokens: int = 0


def compute_parts(
    documents: Iterable[Document],
    elmo: Elmo,
    options: Options,
    shard: Shard,
    folder: Path,
    *,
    limits: WindowLimits,
    on_window: Callable[[Done], None],
    on_records: Callable[[list[Record]], None] | None = None,
) -> None:
    """Encode the share of the documents and write the parts that are not in ``folder`` yet.

    ``on_records`` gets the records of every window, in a thread that may wait there.
    """
    existing = find_parts(folder)
    first = read_trailer(existing[-1]).next if existing else (0, 0)
    passages = read_passages(documents, elmo.split, shard=shard, start=first)
    write = _Parts(folder, len(existing), first, RecordMaker(options), on_records)
    done = Done()
    # One thread writes and flushes a window while the next is encoded; never more than one waits.
    with ThreadPoolExecutor(1, thread_name_prefix="polyseme-parts") as thread:
        written: Future[None] | None = None
        try:
            for window in plan_windows(passages, options, limits):
                encoded = list(encode_window(elmo, window))
                if written is not None:
                    written.result()
                written = thread.submit(write, window, encoded)
                done = Done(done.sentences + len(window.passages), done.tokens + _tokens(window))
                on_window(done)
            if written is not None:
                written.result()
        finally:
            thread.submit(write.abandon)


def keep_all_or_nothing(folder: Path) -> None:
    """Where state is carried, nothing can be computed alone: forget all parts unless every one is there and whole."""
    paths = find_parts(folder)
    if not (folder / COMPLETE).exists() or any(whole_trailer(path) is None for path in paths):
        (folder / COMPLETE).unlink(missing_ok=True)
        for path in reversed(paths):
            path.unlink()


def repair_parts(
    documents: Callable[[], Iterable[Document]],
    elmo: Elmo,
    options: Options,
    shard: Shard,
    folder: Path,
    limits: WindowLimits,
) -> None:
    """Compute damaged parts again, each alone; from one whose end nobody knows on, forget them."""
    paths = find_parts(folder)
    trailers = [whole_trailer(path) for path in paths]
    for number in [number for number, trailer in enumerate(trailers) if trailer is None]:
        before, after = trailers[number - 1] if number else None, trailers[number + 1] if paths[number + 1 :] else None
        if after is None:
            (folder / COMPLETE).unlink(missing_ok=True)
            for path in reversed(paths[number:]):  # backwards: at every moment those that are left have no gap
                path.unlink()
            return
        first, until = before.next if before else (0, 0), after.first
        passages = read_passages(documents(), elmo.split, shard=shard, start=first)
        inside = takewhile(partial(_stands_before, until), passages)
        write = _Parts(folder, number, first, RecordMaker(options))
        for window in plan_windows(inside, options, replace(limits, part=sys.maxsize)):
            write(window, list(encode_window(elmo, window)))
        trailers[number] = read_trailer(paths[number])


def _stands_before(position: Position, passage: Passage) -> bool:
    return (passage.number, passage.sentence) < position


class _Parts:
    """Writes window after window; a part has its name when its last window is written."""

    def __init__(
        self,
        folder: Path,
        number: int,
        first: Position,
        make_records: RecordMaker,
        on_records: Callable[[list[Record]], None] | None = None,
    ) -> None:
        self._folder, self._number, self._first = folder, number, first
        self._make_records, self._on_records = make_records, on_records
        self._writer: PartWriter | None = None
        self._done = Done()

    def __call__(self, window: Window, encoded: list[tuple[Passage, Floats]]) -> None:
        """``encoded`` is empty afterwards, so that nobody holds its layers longer than they are needed."""
        sentences = len(encoded)
        if self._writer is None:
            self._writer = PartWriter(part_path(self._folder, self._number))
        records = [record for passage, layers in encoded for record in self._make_records(passage, layers)]
        encoded.clear()
        for record in records:
            self._writer.add(record)
        if self._on_records is not None:
            self._on_records(records)
        self._done = Done(self._done.sentences + sentences, self._done.tokens + _tokens(window))
        if window.ends_part:
            self._writer.finish(self._first, window.next, self._done.sentences, self._done.tokens)
            self._number, self._first, self._writer, self._done = self._number + 1, window.next, None, Done()

    def abandon(self) -> None:
        """Leave nothing of a part that is not finished."""
        if self._writer is not None:
            self._writer.abandon()


def plan_windows(passages: Iterator[Passage], options: Options, limits: WindowLimits) -> Iterator[Window]:
    """Group sentences; with target words, only those that have one. A part ends with a window.

    Where state is carried, a window is a batch of exactly so many sentences.
    """
    batch = options.batch_size
    window: list[Passage] = []
    in_window = in_part = scanned = 0
    position: Position | None = None
    for passage in passages:
        position = passage.next
        scanned += len(passage.tokens) + 1
        if not options.words or target_positions(passage, options.words):
            window.append(passage)
            in_window += len(passage.tokens)
            in_part += len(passage.tokens) + 1
        full = in_window >= limits.window if batch is None else len(window) == batch
        may_end = (passage.is_last or options.pool is None) and (batch is None or full)
        if may_end and (in_part >= limits.part or scanned >= _SCAN_TOKENS):
            yield Window(window, position, ends_part=True)
            window, in_window, in_part, scanned, position = [], 0, 0, 0, None
        elif full:
            yield Window(window, position, ends_part=False)
            window, in_window = [], 0
    if position is not None:
        yield Window(window, position, ends_part=True)


def encode_window(elmo: Elmo, window: Window) -> Iterator[tuple[Passage, Floats]]:
    """Each sentence with its layers [L+1, N, W]."""
    return zip(window.passages, elmo.layers_of([passage.tokens for passage in window.passages]), strict=True)


def _tokens(window: Window) -> int:
    return sum(len(passage.tokens) for passage in window.passages)


def target_positions(passage: Passage, words: tuple[str, ...]) -> list[int]:
    """Where target words stand, whatever their case."""
    folded = {word.casefold() for word in words}
    return [position for position, token in enumerate(passage.tokens) if token.casefold() in folded]


@dataclass(slots=True)
class RecordMaker:
    """Layers of sentences → records, by the options; a pooled document is summed up here until it ends."""

    options: Options
    _sum: Floats | None = None  # [L+1, W], float64: the order of the sentences is the only order there is
    _tokens: list[str] = field(default_factory=list)
    _offsets: list[Offsets] = field(default_factory=list)

    def __call__(self, passage: Passage, layers: Floats) -> Iterator[Record]:
        if self.options.pool:
            yield from self._pool(passage, layers)
            return
        values = self._values(layers)
        begin, end = passage.bounds
        text, offsets = passage.whole[begin:end], passage.offsets - np.int32(begin)
        if not self.options.words:
            yield self._record(passage, begin, text, passage.tokens, offsets, values)
            return
        for position in target_positions(passage, self.options.words):
            word = values[..., position, :]
            yield self._record(passage, begin, text, passage.tokens, offsets, word, position)

    def _pool(self, passage: Passage, layers: Floats) -> Iterator[Record]:
        total = layers.sum(axis=1, dtype=np.float64)  # [L+1, W]
        self._sum = total if self._sum is None else self._sum + total
        self._tokens += passage.tokens
        self._offsets.append(passage.offsets)
        if passage.is_last:
            mean = self._sum / max(len(self._tokens), 1)  # nothing has the mean 0
            tokens, offsets = self._tokens, np.concatenate(self._offsets)
            self._sum, self._tokens, self._offsets = None, [], []
            yield self._record(passage, 0, passage.whole, tokens, offsets, self._values(mean))

    def _values(self, layers: Floats) -> Floats:
        chosen = choose_layers(layers, self.options.layers or "average")
        with np.errstate(over="ignore"):
            values = chosen.astype(self.options.dtype, copy=False)
        if self.options.dtype == "float16" and not np.isfinite(values).all():
            raise InputError(
                f"a vector has the value {np.abs(chosen).max():.3g}, which float16 cannot hold; use --dtype float32"
            )
        return values

    def _record(
        self,
        passage: Passage,
        start: int,
        text: str,
        tokens: list[str],
        offsets: Offsets,
        values: Floats,
        position: int | None = None,
    ) -> Record:
        return Record(
            document=passage.number,
            id=passage.document.id,
            source=passage.document.source,
            sentence=0 if self.options.pool else passage.sentence,
            start=start,
            text=text,
            tokens=tokens,
            offsets=offsets,
            values=values,
            has_layers=self.options.layers == "all",
            position=position,
            kept=passage.document.kept,
        )
