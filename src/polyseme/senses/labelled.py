"""Words whose uses are labelled with senses, to measure a model on: data/senses.tsv, or a file like it.

What is chosen (a readout, a method) is chosen on one half of the words and reported on the other. Which word belongs to
which half follows from its spelling alone.

Triplet accuracy says how often a use is nearer to a use in the same sense than to one in another sense:

    anchor          every use of the word
    positive        every other use in its sense
    negative        every use in another sense

A word's share is that of its triplets in which the positive is nearer than the negative, a tie counted half. So static
vectors, which are the same everywhere, reach one half by construction. Words count equally, however many uses they
have; the interval is a bootstrap over words, because words are what a sample of the language is made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import Floats, unit
from polyseme.errors import ConfigError, InputError
from polyseme.lm.places import find_place
from polyseme.prepared_text import read_target
from polyseme.senses.shipped import SENSES

TIE = 1e-6  # similarities nearer than this are equal: they come from float32
RESAMPLES = 2000
SURE = 0.95  #: what share of the resamples lies in an interval


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval in which it lies for most samples like this one."""

    mean: float
    low: float
    high: float
    count: int


def triplet_accuracy(similarity: Floats, senses: Sequence[str]) -> float:
    """The similarities of a word's uses [n, n] and the sense of each → the share of triplets that are right."""
    names = np.asarray(senses)
    same = (names[:, None] == names) & ~np.eye(len(names), dtype=bool)  # [n, n]
    other = names[:, None] != names
    right = total = 0.0
    for anchor in range(len(names)):
        gaps = similarity[anchor, same[anchor]][:, None] - similarity[anchor, other[anchor]]  # [positives, negatives]
        right += float((gaps > TIE).sum() + 0.5 * (np.abs(gaps) <= TIE).sum())
        total += gaps.size
    if not total:
        raise ValueError("no triplet: a word needs two senses, and two uses of one of them")
    return right / total


def nearest_accuracy(similarity: Floats, senses: Sequence[str]) -> float:
    """The share of uses whose nearest other use has the same sense; of several equally near, the share of them."""
    names = np.asarray(senses)
    right = 0.0
    for number, row in enumerate(similarity):
        others = np.arange(len(row)) != number
        nearest = others & (row >= row[others].max() - TIE)
        right += float((names[nearest] == names[number]).mean())
    return right / len(names)


def mean_interval(values: Sequence[float] | npt.NDArray[np.float64], seed: int = 0) -> Interval:
    """The mean of some values with its bootstrap interval (percentiles); the same values give the same interval."""
    every = np.asarray(values, np.float64)
    drawn = np.random.default_rng(seed).integers(len(every), size=(RESAMPLES, len(every)))
    low, high = np.quantile(every[drawn].mean(axis=1), [(1 - SURE) / 2, (1 + SURE) / 2])
    return Interval(float(every.mean()), float(low), float(high), len(every))


@dataclass(frozen=True, slots=True)
class AmbiguousWord:
    """A word and its uses: the sense and the sentence of each, the word in brackets."""

    lang: str
    word: str
    senses: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def order(self) -> str:
        """What the words of a language are sorted by, before they are split into halves."""
        return hashlib.sha256(f"{self.lang}\t{self.word}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Closeness:
    """A word in one layer: how much alike its uses are."""

    same: float  #: mean cosine of two uses in one sense
    cross: float  #: mean cosine of two uses in different senses
    share: float  #: of the triplets that are right


@dataclass(frozen=True, slots=True)
class SenseReport:
    """What one layer makes of all words."""

    words: tuple[AmbiguousWord, ...]
    found: tuple[Closeness, ...]  #: for each word

    @property
    def share(self) -> Interval:
        """Of the triplets that are right, the mean over words."""
        return mean_interval([one.share for one in self.found])

    @property
    def margin(self) -> float:
        """How much closer uses in one sense are, on average: the difference of the cosines."""
        return sum(one.same - one.cross for one in self.found) / len(self.found)

    @property
    def failed(self) -> list[str]:
        """The words whose uses are told apart no better than by chance."""
        return [word.word for word, one in zip(self.words, self.found, strict=True) if one.share <= 0.5]


def read_senses(path: str | Path = SENSES, lang: str | None = None) -> list[AmbiguousWord]:
    """The words of a TSV file (language, word, sense, sentence with the word in [brackets]), of one language or all."""
    uses: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.rstrip("\r").split("\t")
        if len(columns) != 4 or read_target(columns[3])[1] is None:
            raise InputError(
                f"{path}, line {number}: expected language, word, sense and a sentence with the word in [brackets], "
                f"separated by tabs, but found {line[:60]!r}"
            )
        if lang in (None, columns[0]):
            uses.setdefault((columns[0], columns[1]), []).append((columns[2], columns[3]))
    words = [_word(language, word, found, path) for (language, word), found in uses.items()]
    if not words:
        raise InputError(f"{path} has no words{f' of the language {lang!r}' if lang else ''}")
    return words


def _word(lang: str, word: str, uses: list[tuple[str, str]], path: str | Path) -> AmbiguousWord:
    senses, sentences = zip(*uses, strict=True)
    counts = [senses.count(sense) for sense in set(senses)]
    if len(counts) < 2 or max(counts) < 2:
        raise InputError(f"{path}: {word!r} needs two senses, with two sentences for one of them")
    return AmbiguousWord(lang, word, senses, sentences)


def split_halves(words: Iterable[AmbiguousWord]) -> tuple[list[AmbiguousWord], list[AmbiguousWord]]:
    """The words for choosing and the words for reporting: half of each language (the rule stands in senses.tsv)."""
    by_lang: dict[str, list[AmbiguousWord]] = {}
    for word in words:
        by_lang.setdefault(word.lang, []).append(word)
    choosing, reporting = list[AmbiguousWord](), list[AmbiguousWord]()
    for those in by_lang.values():
        ordered = sorted(those, key=lambda word: word.order)
        choosing += ordered[: len(ordered) // 2]
        reporting += ordered[len(ordered) // 2 :]
    return choosing, reporting


def tell_apart(elmo: Elmo, words: Sequence[AmbiguousWord]) -> list[SenseReport]:
    """What each layer of a model makes of the words; the first is the token layer."""
    if elmo.state == "carry":
        raise ConfigError('uses of a word can be compared with the state "reset" or "warm" only, but it is "carry"')
    return judge(words, target_layers(elmo, [sentence for word in words for sentence in word.sentences]))


def target_layers(elmo: Elmo, marked: Sequence[str]) -> Floats:
    """Every layer of the marked word of each sentence. [L+1, n, W]"""
    places = [find_place(elmo, text) for text in marked]
    encodings = elmo.stream(place.tokens for place in places)
    return np.stack([place.vectors(one.layers) for place, one in zip(places, encodings, strict=True)], axis=1)


def judge(words: Sequence[AmbiguousWord], vectors: Floats) -> list[SenseReport]:
    """The vectors of all uses of all words, in order [L, uses, W] → a report for each layer."""
    spans = use_spans(words)
    return [
        SenseReport(
            tuple(words),
            tuple(closeness(layer[span], word.senses) for word, span in zip(words, spans, strict=True)),
        )
        for layer in vectors
    ]


def use_spans(words: Sequence[AmbiguousWord]) -> list[slice]:
    """Where the uses of each word lie among those of all, in order."""
    ends = np.cumsum([len(word.senses) for word in words]).tolist()
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def closeness(vectors: Floats, senses: Sequence[str]) -> Closeness:
    """The vectors [n, W] of a word's uses and the sense of each → how much alike they are."""
    units = unit(vectors)
    return closeness_of(units @ units.T, senses)


def closeness_of(cosines: Floats, senses: Sequence[str]) -> Closeness:
    """How alike each two uses of a word are [n, n] and the sense of each → how much alike they are by sense."""
    names = np.asarray(senses)
    alike = names[:, None] == names  # [n, n]
    pairs = np.triu(np.ones_like(alike), 1)
    same, cross = cosines[alike & pairs].mean(), cosines[~alike & pairs].mean()
    return Closeness(float(same), float(cross), triplet_accuracy(cosines, senses))
