"""Pass 1 of preparing a corpus: tokens numbered as they come, sentence and document bounds, and all counts.

Only the table of distinct tokens is in memory; everything else is appended to files.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from polyseme.jobs.ordered_map import map_in_order
from polyseme.jobs.progress import Work
from polyseme.pretrain.corpus.chunks import EncodedChunk, Source, encode_chunk, read_chunks
from polyseme.pretrain.corpus.corpus import U4, U8
from polyseme.text.tokenization import Language


class Gathered:
    """The types in order of first occurrence, how often each occurs, and the totals so far."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._counts = np.zeros(1024, np.int64)  # grows ahead of the types
        self.tokens = self.sentences = self.documents = self.longest_sentence = 0

    @property
    def counts(self) -> NDArray[np.int64]:  # [types]
        return self._counts[: len(self.numbers)]

    def number_types(self, chunk: EncodedChunk) -> NDArray[np.uint32]:
        """The number here of each type of a chunk, whose counts are added."""
        numbers = self.numbers
        found = np.array([numbers.setdefault(word, len(numbers)) for word in chunk.types], U4)
        if len(numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(numbers), np.int64)])
        self._counts[found] += chunk.counts  # no number stands in `found` twice
        return found


def gather(
    sources: Sequence[Source],
    folder: Path,
    *,
    lang: Language,
    workers: int,
    work: Work,
) -> Gathered:
    """Write tokens.bin (provisional numbers), sentences.bin and documents.bin; ``work`` is told the bytes read."""
    gathered = Gathered()
    chunks = map_in_order(partial(encode_chunk, lang=lang), read_chunks(sources), workers)
    with (
        closing(chunks),
        (folder / "tokens.bin").open("wb") as tokens,
        (folder / "sentences.bin").open("wb") as sentences,
        (folder / "documents.bin").open("wb") as documents,
    ):
        document_is_due = False
        for chunk in chunks:
            if document_is_due and len(chunk.lengths):
                chunk.begins_document[0] = True
            document_is_due = chunk.ends_document or (document_is_due and not len(chunk.lengths))
            _append(chunk, gathered, tokens, sentences, documents)
            work.reach(chunk.bytes_read, tokens=gathered.tokens)
        _write(sentences, np.array([gathered.tokens], U8))
        _write(documents, np.array([gathered.sentences], U8))
    return gathered


def _append(
    chunk: EncodedChunk, gathered: Gathered, tokens: IO[bytes], sentences: IO[bytes], documents: IO[bytes]
) -> None:
    if not len(chunk.lengths):
        return
    ends = gathered.tokens + np.cumsum(chunk.lengths, dtype=U8)
    begins = np.flatnonzero(chunk.begins_document) + gathered.sentences
    _write(tokens, gathered.number_types(chunk)[chunk.ids])
    _write(sentences, ends - chunk.lengths)
    _write(documents, begins.astype(U8))
    gathered.tokens += len(chunk.ids)
    gathered.sentences += len(chunk.lengths)
    gathered.documents += len(begins)
    gathered.longest_sentence = max(gathered.longest_sentence, int(chunk.lengths.max()))


def _write(file: IO[bytes], values: NDArray[Any]) -> None:
    file.write(values.tobytes())  # not ndarray.tofile, which tells a full disk from no other error
