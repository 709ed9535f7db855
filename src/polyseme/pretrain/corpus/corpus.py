"""A prepared corpus: a folder of plain arrays, memory-mapped, so that it may be larger than memory.

    corpus.json      what it holds: see CorpusMeta
    tokens.bin       u4 [tokens]         type ids, sentence after sentence, without boundaries
    sentences.bin    u8 [sentences + 1]  where each sentence begins in tokens
    documents.bin    u8 [documents + 1]  where each document begins in sentences
    types.txt        every distinct token, one per line; its id is its line; by decreasing count, ties by code points
    types.bin        u8 [types + 1]      where each line begins in types.txt
    counts.bin       u8 [types]          how often each type occurs
    targets.bin      u4 [types]          each type's word in the softmax, <UNK> if there is none
    vocab.txt        the words of the softmax with their counts; <S> and </S> are counted once per sentence

All numbers are little endian. `polyseme.pretrain.corpus.preparation` writes it. ``describe`` computes coverage and
percentiles of lengths, which help to choose a vocabulary and a sentence length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.jobs.manifests import InputFile, Piece, check_pieces, map_file, read_manifest, release
from polyseme.text.vocabulary import SPECIALS, Vocabulary

VERSION = 1
META, TYPES_TEXT, VOCABULARY = "corpus.json", "types.txt", "vocab.txt"
U4, U8 = np.dtype("<u4"), np.dtype("<u8")
SIZES = (30_000, 50_000, 100_000, 200_000)
PERCENTS = (1, 5, 25, 50, 75, 95, 99, 100)
_BLOCK = 1 << 20  # sentences read at once


@dataclass(frozen=True)
class CorpusMeta:
    """The figures of a corpus, as in corpus.json."""

    lang: str
    tokens: int
    sentences: int
    documents: int
    types: int
    vocabulary_size: int  # words of the softmax, specials included
    unknown_rate: float  # share of tokens whose word in the softmax is <UNK>
    coverage: float  # share of all other tokens
    longest_sentence: int  # in tokens
    seed: int
    inputs: tuple[InputFile, ...]
    pieces: Mapping[str, Piece] = field(default_factory=dict)  # the other files
    version: int = VERSION


@dataclass(frozen=True, eq=False)
class Corpus:
    """An open corpus; the arrays are read-only and loaded from disk as they are used."""

    folder: Path
    meta: CorpusMeta
    tokens: NDArray[np.uint32]  # [tokens]
    sentences: NDArray[np.uint64]  # [sentences + 1]
    documents: NDArray[np.uint64]  # [documents + 1]
    targets: NDArray[np.uint32]  # [types]
    counts: NDArray[np.uint64]  # [types]
    vocabulary: Vocabulary
    _type_bytes: NDArray[np.uint8]
    _type_starts: NDArray[np.uint64]  # [types + 1]

    def type(self, id: int) -> str:
        """The token with this type id."""
        start, end = self._type_starts[id : id + 2].tolist()
        return self._type_bytes[start : end - 1].tobytes().decode()

    def types(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The tokens with these type ids."""
        return [self.type(int(id)) for id in ids]

    def sentence(self, i: int) -> NDArray[np.uint32]:
        """The type ids of sentence ``i``."""
        start, end = self.sentences[i : i + 2].tolist()
        return np.array(self.tokens[start:end])

    def release(self) -> None:
        """Release the memory of the text that was read, so that a long run does not end up holding all of it."""
        release(self.tokens, self.sentences)


def open_corpus(folder: str | Path) -> Corpus:
    """Open what `prepare` wrote; InputError if the folder is incomplete, damaged or of another version."""
    folder = Path(folder)
    if not (folder / META).is_file():
        raise InputError(f"{folder} is not a prepared corpus: it has no {META}; make one with: polyseme prepare")
    try:
        meta = read_manifest(folder / META, CorpusMeta, VERSION)
        check_pieces(folder, meta.pieces)
        type_starts = map_file(folder / "types.bin", U8, meta.types + 1)
        corpus = Corpus(
            folder=folder,
            meta=meta,
            tokens=map_file(folder / "tokens.bin", U4, meta.tokens),
            sentences=map_file(folder / "sentences.bin", U8, meta.sentences + 1),
            documents=map_file(folder / "documents.bin", U8, meta.documents + 1),
            targets=map_file(folder / "targets.bin", U4, meta.types),
            counts=map_file(folder / "counts.bin", U8, meta.types),
            vocabulary=Vocabulary.read(folder / VOCABULARY),
            _type_bytes=map_file(folder / TYPES_TEXT, np.dtype("u1"), int(type_starts[-1])),
            _type_starts=type_starts,
        )
        _check(corpus)
    except (InputError, OSError, TypeError, UnicodeDecodeError) as problem:
        raise InputError(f"{folder} is not a usable corpus: {problem}; run polyseme prepare again") from None
    return corpus


def _check(corpus: Corpus) -> None:
    """Check that the files agree where they refer to each other; sizes were checked before."""
    meta = corpus.meta
    for name, starts, end in (
        ("sentences.bin", corpus.sentences, meta.tokens),
        ("documents.bin", corpus.documents, meta.sentences),
    ):
        if (int(starts[0]), int(starts[-1])) != (0, end):
            raise InputError(f"{name} runs from {starts[0]} to {starts[-1]} where 0 to {end} was expected")
    if len(corpus.vocabulary) != meta.vocabulary_size:
        raise InputError(f"{VOCABULARY} has {len(corpus.vocabulary)} words where {meta.vocabulary_size} were expected")
    if int(corpus.targets.max()) >= meta.vocabulary_size:
        raise InputError(f"targets.bin names a word that {VOCABULARY} does not have")


@dataclass(frozen=True)
class CorpusStatistics:
    """``coverage[V]``: the share of tokens in a vocabulary of the V - 3 most frequent words and the specials;
    ``lengths[p]``: p percent of the sentences have at most this many tokens."""

    coverage: dict[int, float]
    lengths: dict[int, int]
    mean_length: float


def describe(corpus: Corpus) -> CorpusStatistics:
    """Compute the statistics of a corpus in constant memory."""
    meta = corpus.meta
    return CorpusStatistics(
        coverage={size: int(corpus.counts[: size - len(SPECIALS)].sum()) / meta.tokens for size in SIZES},
        lengths=_percentiles(corpus),
        mean_length=meta.tokens / meta.sentences,
    )


def _percentiles(corpus: Corpus) -> dict[int, int]:
    lengths, times = _distinct_lengths(corpus)
    upto = np.cumsum(times)  # upto[i] sentences have at most lengths[i] tokens
    needed = [-(-percent * corpus.meta.sentences // 100) for percent in PERCENTS]  # rounded up
    found = lengths[np.searchsorted(upto, needed)]
    return dict(zip(PERCENTS, found.tolist(), strict=True))


def _distinct_lengths(corpus: Corpus) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lengths that occur, increasing, and how often each one occurs."""
    lengths, times = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for start in range(0, corpus.meta.sentences, _BLOCK):
        block = np.diff(corpus.sentences[start : start + _BLOCK + 1]).astype(np.int64)
        seen, count = np.unique(block, return_counts=True)
        lengths, where = np.unique(np.concatenate([lengths, seen]), return_inverse=True)
        times = np.bincount(where, np.concatenate([times, count])).astype(np.int64)
    return lengths, times
