"""One vector for each word of a list: what the token layer says of its spelling, or the mean over a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyseme.encoding import Floats
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.elmo import Elmo


class ExportedVectors(NamedTuple):
    """Words and their vectors, row by row."""

    words: list[str]
    vectors: Floats  # [words, D] of the token layer, [words, W] of averages
    missing: list[str]  #: words of the list that the corpus does not have


def read_words(lines: Iterable[str]) -> list[str]:
    """One word a line, each once, in order; what stands after a tab or a space on a line is an error."""
    words: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if len(word.split()) > 1:
            raise InputError(
                f"line {number} of the word list holds {word!r}; expected one word per line, without spaces"
            )
        if word:
            words[word] = None
    if not words:
        raise InputError("the word list has no words; expected one word per line")
    return list(words)


def token_layer_vectors(elmo: Elmo, words: Sequence[str]) -> ExportedVectors:
    """The token layer, which reads the spelling alone: any word has a vector. Both directions read the same one."""
    size = elmo.config.projection
    rows = [encoding.layers[0, 0, :size] for encoding in elmo.stream([word] for word in words)]
    return ExportedVectors(list(words), np.stack(rows), [])


def corpus_averages(elmo: Elmo, words: Sequence[str], texts: Iterable[str | Sequence[str]]) -> ExportedVectors:
    """The mean of a word's vectors over all its occurrences, in any case; words that do not occur are left out."""
    places = {word.casefold(): row for row, word in reversed(list(enumerate(words)))}
    sums, counts = np.zeros((len(words), elmo.config.width)), np.zeros(len(words), np.int64)
    for encoding in elmo.stream(texts):
        for position, token in enumerate(encoding.tokens):
            row = places.get(token.casefold())
            if row is not None:
                sums[row] += encoding.vectors[position]
                counts[row] += 1
    rows = [places[word.casefold()] for word in words]  # spellings that differ in case share their mean
    found = [(word, row) for word, row in zip(words, rows, strict=True) if counts[row]]
    if not found:
        raise InputError("none of the words occurs in the corpus, so there is nothing to average")
    means = np.stack([sums[row] / counts[row] for _, row in found]).astype(np.float32)
    known = {word for word, _ in found}
    return ExportedVectors([word for word, _ in found], means, [word for word in words if word not in known])
