"""What train_chinese.py and train_korean.py share: counting words for a lexicon, and logistic regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polyseme.text.linear_tagger import Codes, Flags, Lexicon, Places, hash_strings

Floats = npt.NDArray[np.float32]

_CHUNK = 1 << 16


def find_examples(codes: Codes, asked: Flags, find_features: Callable[[Codes, Places], Codes], context: int) -> Codes:
    """The slots that vote at each asked place of a long text: [examples, F]."""
    found = []
    for start in range(0, len(codes), _CHUNK):
        left = min(start, context)
        places = np.flatnonzero(asked[start : start + _CHUNK]) + left
        found.append(find_features(codes[start - left : start + _CHUNK + context], places).T)
    return np.concatenate(found)


def learn(slots: Codes, labels: Flags, size: int, *, epochs: int, batch: int, rate: float = 0.1) -> Floats:
    """Logistic regression by AdaGrad, averaged over the second half of the epochs. ``slots`` is [examples, F]."""
    weights = np.zeros(size, np.float32)
    squares = np.full_like(weights, 1e-3)
    mean = np.zeros_like(weights)
    order = np.random.default_rng(0)
    for epoch in range(epochs):
        shuffled = order.permutation(len(slots))
        for start in range(0, len(slots), batch):
            chosen = shuffled[start : start + batch]
            asked = slots[chosen]
            error = 1 / (1 + np.exp(-weights[asked].sum(axis=1))) - labels[chosen]
            touched, which = np.unique(asked, return_inverse=True)
            gradient = np.bincount(which.ravel(), np.repeat(error, asked.shape[1])).astype(np.float32)
            squares[touched] += gradient**2
            weights[touched] -= rate * gradient / np.sqrt(squares[touched])
        if epoch >= epochs // 2:
            mean += weights / (epochs - epochs // 2)
    return mean


def count_words(
    codes: Codes, ends: Floats, letter: Flags, longest: int, slots: int, least_count: int, least_rate: int
) -> Lexicon:
    """A table of how often strings of letters are words; of two strings in one slot, the more frequent is kept.

    ``ends`` is the probability that a word ends after each place. Strings rarer than ``least_count``, or words less
    often than the level ``least_rate``, are left out.
    """
    begins = np.concatenate([[np.float32(1)], ends[:-1]])
    hashes, rates, counts = [], [], []
    for length, of_length in enumerate(hash_strings(codes, longest), start=1):
        places = np.flatnonzero(np.lib.stride_tricks.sliding_window_view(letter, length).all(axis=1))
        word = begins[places] * ends[places + length - 1]
        for inner in range(length - 1):
            word *= 1 - ends[places + inner]
        strings, which, count = np.unique(of_length[places], return_inverse=True, return_counts=True)
        rate = (np.bincount(which, word) + 0.1) / (count + 1)
        level = np.clip(np.round(np.log2(rate / (1 - np.minimum(rate, 0.999)))) + 8, 1, 15)  # log odds in four bits
        kept = (count >= least_count) & ((level >= least_rate) | (length == 1))
        hashes.append(strings[kept])
        rates.append(level[kept].astype(np.uint16))
        counts.append(count[kept])
    order = np.argsort(np.concatenate(counts), kind="stable")
    string = np.concatenate(hashes)[order]
    lexicon = np.zeros(slots, np.uint16)
    check = ((string & np.uint32(0xFFF)) << np.uint32(4)).astype(np.uint16)
    lexicon[string >> np.uint32(33 - slots.bit_length())] = check | np.concatenate(rates)[order]
    return lexicon
