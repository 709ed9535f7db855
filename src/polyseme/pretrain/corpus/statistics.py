"""What a corpus is like, to choose a vocabulary and a sentence length by: coverage and percentiles of lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.text.vocabulary import SPECIALS

SIZES = (30_000, 50_000, 100_000, 200_000)
PERCENTS = (1, 5, 25, 50, 75, 95, 99, 100)
_BLOCK = 1 << 20  # sentences at once


@dataclass(frozen=True)
class CorpusStatistics:
    """``coverage[V]``: share of the tokens in a vocabulary of the V - 3 most frequent words and the specials;
    ``lengths[p]``: p percent of the sentences have at most so many tokens."""

    coverage: dict[int, float]
    lengths: dict[int, int]
    mean_length: float


def describe(corpus: Corpus) -> CorpusStatistics:
    """Count through a corpus in constant memory."""
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
    """The lengths that occur, increasing, and how often each does."""
    lengths, times = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for start in range(0, corpus.meta.sentences, _BLOCK):
        block = np.diff(corpus.sentences[start : start + _BLOCK + 1]).astype(np.int64)
        seen, count = np.unique(block, return_counts=True)
        lengths, where = np.unique(np.concatenate([lengths, seen]), return_inverse=True)
        times = np.bincount(where, np.concatenate([times, count])).astype(np.int64)
    return lengths, times
