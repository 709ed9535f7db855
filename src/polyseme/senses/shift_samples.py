"""Occurrences of words in the two texts that a shift compares (files of any size, or indexes), and which words to take.

A text is read once for all words, and memory holds no more of it than what was drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from polyseme.elmo import Elmo
from polyseme.errors import InputError
from polyseme.index.files import DESCRIPTION
from polyseme.index.occurrences import Occurrence
from polyseme.index.vector_index import Index
from polyseme.jobs.progress import working
from polyseme.senses.collect import BLOCK_LINES, WordSample, sample_files
from polyseme.text.readers import read_documents

#: What a word of the vocabulary has to have in each text to be looked at: with fewer, chance is too large.
ENOUGH_USES = 30
#: So many words, the most frequent of both texts, are grammar.
TOO_FREQUENT = 150


def index_of(source: str | Path, elmo: Elmo) -> Index | None:
    """The index, if the source is the folder of one."""
    return Index.open(source, elmo) if (Path(source) / DESCRIPTION).exists() else None


def draw_samples(
    elmo: Elmo,
    words: Sequence[str],
    source: str | Path,
    most: int,
    *,
    kind: str | None = None,
    field: str | None = None,
    seed: int = 0,
) -> dict[str, WordSample]:
    """Up to ``most`` occurrences of each word, each with the same chance."""
    index = index_of(source, elmo)
    if index is None:
        return sample_files(elmo, words, [source], most, kind=kind, field=field, seed=seed)
    return {word: _from_index(index, word, most, seed) for word in words}


def _from_index(index: Index, word: str, most: int, seed: int) -> WordSample:
    rows = index.rows(word)
    random = np.random.default_rng([seed, crc32(word.encode())])
    drawn = np.sort(random.permutation(rows)[:most])
    kept = [index.occurrence(int(row)) for row in drawn]
    return WordSample(most, len(rows), kept, [_block(one) for one in kept])


def _block(one: Occurrence) -> int:
    """Of an index nobody knows where empty lines were: a record by its id, lines by the hundred."""
    name = str(int(one.document) // BLOCK_LINES) if one.document.isdecimal() else one.document
    return crc32(f"{one.source}\t{name}".encode("utf-8", "surrogatepass"))


def count_words(elmo: Elmo, source: str | Path, *, kind: str | None = None, field: str | None = None) -> Counter[str]:
    """How often each word stands in a text, in small letters; of a model with a vocabulary, the words that it knows."""
    index = index_of(source, elmo)
    if index is not None:
        return Counter({word.casefold(): index.count(word) for word in index.words})
    known = None if elmo.vocabulary is None else {word.casefold() for word in elmo.vocabulary.words}
    counts = Counter[str]()
    with working("counting words") as work:
        for number, document in enumerate(read_documents([source], kind=kind, field=field), start=1):
            counts.update(
                token for token in _tokens(elmo, document.text, document.sentences) if known is None or token in known
            )
            if number % 1000 == 0:
                work.advance(1000, note=f"{number:,} lines")
    return counts


def _tokens(elmo: Elmo, text: str | None, sentences: Sequence[Sequence[str]] | None) -> Iterator[str]:
    split = sentences if text is None else [sentence.tokens for sentence in elmo.split(text)]
    return (token.casefold() for sentence in split or () for token in sentence)


def choose_words(before: Mapping[str, int], after: Mapping[str, int], most: int) -> list[str]:
    """Words that are frequent enough in both texts to be compared: the most frequent ones, without grammar and names of
    one text. InputError where there are none.
    """
    joint = {word: min(before[word], after[word]) for word in before.keys() & after.keys()}
    ordered = sorted(joint, key=lambda word: (-joint[word], word))
    content = [word for word in ordered[TOO_FREQUENT:] if _is_content(word) and joint[word] >= ENOUGH_USES]
    if not content:
        raise InputError(
            f"beyond the {TOO_FREQUENT} most frequent words none occurs {ENOUGH_USES} times in both texts; "
            "name words with --words"
        )
    return content[:most]


def _is_content(word: str) -> bool:
    return word.isalpha() and (len(word) > 2 or not word.isascii())
