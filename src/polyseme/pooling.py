"""One vector for each text, or for each occurrence of a word, as matrices; and how similar two texts are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from polyseme.encoding import Encoding, Floats, unit
from polyseme.errors import ConfigError, InputError, quoted
from polyseme.jobs.progress import Report, working
from polyseme.prepared_text import checked_list, read_target

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

#: The vectors of a text's tokens [N, W] → one vector [W].
Pooling = Callable[[Floats], Floats]
Pool = Literal["mean", "max", "first"] | Pooling

POOLINGS: dict[str, Pooling] = {
    "mean": lambda vectors: vectors.mean(axis=0, dtype=np.float32),
    "max": lambda vectors: vectors.max(axis=0),
    "first": lambda vectors: vectors[0],
}


class WordPlace(NamedTuple):
    """Where a word is."""

    text: int  #: number of the text, from 0
    token: int  #: number of the token in it
    begin: int  #: the word is text[begin:end]
    end: int


class OccurrenceVectors(NamedTuple):
    """The occurrences of a word: ``vectors, places = elmo.word_vectors(texts, "bank")``."""

    vectors: Floats  # [occurrences, W]
    places: list[WordPlace]


def text_vectors(
    elmo: Elmo, texts: object, pool: Pool = "mean", *, normalize: bool = False, progress: Report | None = None
) -> Floats:
    """One vector for each text, or for each sentence already split into tokens. [texts, W]

    A text without words gets the zero vector. Besides the result, only one window of texts is in memory.
    """
    pooling = find_pooling(pool)
    items = checked_list(texts, "texts")
    vectors = np.zeros((len(items), elmo.config.width), np.float32)
    with working("encoding", len(items), progress) as work:
        for row, encoding in zip(vectors, elmo.stream(items), strict=True):
            if encoding.tokens:
                row[:] = _checked_vector(pooling(encoding.vectors), row.shape)
            work.advance(1, tokens=len(encoding.tokens))
    return unit(vectors) if normalize else vectors


def word_vectors(elmo: Elmo, texts: object, word: str) -> OccurrenceVectors:
    """Every occurrence of a word, in upper or lower case, in the order of the texts."""
    if not isinstance(word, str) or not word.strip():
        raise InputError(f"a word was expected, but {word!r} was given")
    found: list[Floats] = []
    places: list[WordPlace] = []
    for number, encoding in enumerate(elmo.stream(checked_list(texts, "texts"))):
        for token in _positions(encoding, word):
            begin, end = encoding.offsets[token].tolist()
            places.append(WordPlace(number, token, begin, end))
            found.append(encoding.vectors[token])
    return OccurrenceVectors(np.stack(found) if found else np.zeros((0, elmo.config.width), np.float32), places)


def find_pooling(pool: Pool) -> Pooling:
    """The function with this name; a function is returned unchanged."""
    if callable(pool):
        return pool
    if pool not in POOLINGS:
        raise ConfigError(f"pool is {pool!r}, but should be one of {', '.join(POOLINGS)}, or a function of [N, W]")
    return POOLINGS[pool]


def _positions(encoding: Encoding, word: str) -> Iterable[int]:
    folded = word.casefold()
    return (number for number, token in enumerate(encoding.tokens) if token.casefold() == folded)


def _checked_vector(vector: Floats, shape: tuple[int, ...]) -> Floats:
    if np.shape(vector) != shape:
        raise ConfigError(
            f"the function given as pool returned the shape {list(np.shape(vector))} where {list(shape)} was expected"
        )
    return vector


def layer_cosines(elmo: Elmo, first: str, second: str) -> Floats:
    """[L+1]"""
    a, b = _marked_vectors(elmo, first), _marked_vectors(elmo, second)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: Floats = (a * b).sum(axis=1) / np.maximum(norms, np.finfo(np.float32).tiny)
    return cosines


def _marked_vectors(elmo: Elmo, marked: str) -> Floats:
    """The mean of the marked tokens in every layer, or of all tokens if none is marked. [L+1, W]"""
    text, span = read_target(marked)
    encoding = elmo.encode(text)
    begin, end = span or (0, len(text))
    inside = (encoding.offsets[:, 0] < end) & (encoding.offsets[:, 1] > begin)  # [N]
    if not inside.any():
        raise InputError(f"nothing to compare in {quoted(marked)}: no word is marked")
    mean: Floats = encoding.layers[:, inside].mean(axis=1, dtype=np.float32)
    return mean
