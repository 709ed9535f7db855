"""Pseudo-words: thousands of artificial ambiguous words, without manual labels.

Two unrelated words are merged into one, "banana" and "door" into "bananadoor", so that the senses of the new word are
known (Gale et al., 1992; Schütze, 1992). The two are about equally frequent and occur beside the same function words,
so that grammar alone does not distinguish them. All uses of a word come from different documents, because uses in one
document would be alike in every way. Which words are merged depends on the text and its tokens, not on a model.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.encoding import unit
from polyseme.lm.places import Place
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text

USES = 4  #: uses of each of the two words, by default
FUNCTION_WORDS = 50  #: the most frequent tokens, beside which words are compared
TOO_FREQUENT = 100  #: the most frequent tokens, which are not content words
LIKE_FREQUENT = 1.5  #: most by which one word may be more frequent than the other
LENGTHS = range(6, 41)  #: tokens of a sentence


@dataclass(frozen=True, slots=True)
class LabelledUses:
    """A word or pseudo-word, and its uses with the sense of each."""

    word: str
    senses: tuple[str, ...]
    places: tuple[Place, ...]


def read_sentences(paths: Sequence[Path], lang: str) -> list[list[list[str]]]:
    """The documents of the files, as sentences of tokens."""
    documents = read_documents(paths, unit="document")
    return [[sentence.tokens for sentence in split_text(one.text or "", lang)] for one in documents]


def make_pseudo_words(
    documents: Sequence[Sequence[list[str]]], most: int, *, seed: str = "", each: int = USES
) -> list[LabelledUses]:
    """Up to ``most`` pseudo-words with ``each`` uses of both words, always the same for the same documents."""
    uses = _find_uses(documents, each)
    words = sorted(uses, key=lambda word: _hash(seed, word))
    profiles = _profiles(documents, words)  # [words, 2 · FUNCTION_WORDS]
    counts = np.array([len(uses[word]) for word in words])
    free, pairs = np.ones(len(words), bool), list[LabelledUses]()
    for number, word in enumerate(words):
        if not free[number] or len(pairs) == most:
            continue
        free[number] = False
        ratio = np.maximum(counts, counts[number]) / np.minimum(counts, counts[number])
        fits = free & (ratio <= LIKE_FREQUENT)
        fits &= [not _related(word, other) for other in words]
        if fits.any():
            mate = int(np.where(fits, profiles @ profiles[number], -np.inf).argmax())
            free[mate] = False
            pairs.append(_as_one(word, words[mate], uses, each))
    return pairs


def _find_uses(documents: Sequence[Sequence[list[str]]], each: int) -> dict[str, list[Place]]:
    """Words with enough uses: one from each document with the word exactly once in a sentence of normal length."""
    total = Counter(token for document in documents for sentence in document for token in sentence)
    frequent = {word for word, _ in total.most_common(TOO_FREQUENT)}
    uses = defaultdict[str, list[Place]](list)
    for document in documents:
        here: dict[str, Place] = {}
        for sentence in document:
            if len(sentence) in LENGTHS:
                for position, token in enumerate(sentence):
                    if token not in here and token not in frequent and _is_word(token) and sentence.count(token) == 1:
                        here[token] = Place(sentence, position, position + 1)
        for token, place in here.items():
            uses[token].append(place)
    return {token: places for token, places in uses.items() if len(places) >= each}


def _profiles(documents: Iterable[Sequence[list[str]]], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """How often each word follows and precedes each of the most frequent tokens, scaled to length one."""
    total = Counter(token for document in documents for sentence in document for token in sentence)
    function = {word: number for number, (word, _) in enumerate(total.most_common(FUNCTION_WORDS))}
    row = {word: number for number, word in enumerate(words)}
    counts = np.zeros((len(words), 2 * FUNCTION_WORDS), np.float32)
    for document in documents:
        for sentence in document:
            for left, right in pairwise(sentence):
                if right in row and left in function:
                    counts[row[right], function[left]] += 1
                if left in row and right in function:
                    counts[row[left], FUNCTION_WORDS + function[right]] += 1
    return unit(np.sqrt(counts))


def _as_one(first: str, second: str, uses: dict[str, list[Place]], each: int) -> LabelledUses:
    name = first + second
    places = [
        Place([*place.tokens[: place.begin], name, *place.tokens[place.end :]], place.begin, place.end)
        for word in (first, second)
        for place in sorted(uses[word], key=lambda place: _hash(*place.tokens))[:each]
    ]
    return LabelledUses(name, (first,) * each + (second,) * each, tuple(places))


def _is_word(token: str) -> bool:
    """Whether a word is neither a name nor an abbreviation, in a script with capitals."""
    return token.isalpha() and token == token.lower() and (len(token) > 2 or not token.isascii())


def _related(first: str, second: str) -> bool:
    """Whether two words may be forms of one word."""
    size = 4 if first.isascii() else 1
    return first[:size] == second[:size] or first in second or second in first


def _hash(*texts: str) -> str:
    return hashlib.sha256("\t".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
