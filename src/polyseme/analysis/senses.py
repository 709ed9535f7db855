"""Words with two senses: does a model hold two uses in the same sense closer than two uses in different senses?

A file has a few sentences for each sense of a word (data/senses.tsv has sixty words in three languages). Over all
pairs of its sentences a word is told apart if the mean cosine of the pairs of one sense is larger than that of the
pairs across senses; a tie counts half. So static vectors, which are the same everywhere, reach 50 % by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.errors import ConfigError, InputError
from polyseme.lm.places import find_place
from polyseme.target import read_target

Floats = npt.NDArray[np.float32]

SHIPPED = Path(__file__).parent / "data" / "senses.tsv"
TIE = 1e-6  # cosines nearer than this are equal: they come from float32


@dataclass(frozen=True, slots=True)
class AmbiguousWord:
    """A word and its uses: the sense and the sentence of each, the word in brackets."""

    lang: str
    word: str
    senses: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Closeness:
    """A word in one layer: mean cosines over pairs of its uses."""

    same: float  #: of two uses in one sense
    cross: float  #: of two uses in different senses

    @property
    def verdict(self) -> float:
        """1: told apart, 0: the wrong way round, 0.5: a tie."""
        if abs(self.same - self.cross) <= TIE:
            return 0.5
        return float(self.same > self.cross)


@dataclass(frozen=True, slots=True)
class SenseReport:
    """What one layer makes of all words."""

    words: tuple[AmbiguousWord, ...]
    found: tuple[Closeness, ...]  #: for each word

    @property
    def share(self) -> float:
        """Of the words that are told apart, ties counted half."""
        return sum(one.verdict for one in self.found) / len(self.found)

    @property
    def margin(self) -> float:
        """How much closer uses in one sense are, on average: the difference of the cosines."""
        return sum(one.same - one.cross for one in self.found) / len(self.found)

    @property
    def failed(self) -> list[str]:
        """The words that are not told apart."""
        return [word.word for word, one in zip(self.words, self.found, strict=True) if one.verdict < 1]


def read_senses(path: str | Path = SHIPPED, lang: str | None = None) -> list[AmbiguousWord]:
    """The words of a TSV file (language, word, sense, sentence with the word in [brackets]), of one language or all."""
    uses: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.rstrip("\r").split("\t")
        if len(columns) != 4 or read_target(columns[3])[1] is None:
            raise InputError(
                f"{path}, line {number}: expected language, word, sense and a sentence with the word in [brackets], "
                f"with tabs between, but found {line[:60]!r}"
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
        raise InputError(f"{path}: {word!r} needs two senses, and two sentences of one of them")
    return AmbiguousWord(lang, word, senses, sentences)


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
    ends = np.cumsum([len(word.senses) for word in words]).tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    return [
        SenseReport(
            tuple(words),
            tuple(closeness(layer[a:b], word.senses) for word, (a, b) in zip(words, spans, strict=True)),
        )
        for layer in vectors
    ]


def closeness(vectors: Floats, senses: Sequence[str]) -> Closeness:
    """The vectors [n, W] of a word's uses and the sense of each → mean cosines within and across senses."""
    same, cross = list[float](), list[float]()
    for (a, first), (b, second) in combinations(zip(unit(vectors), senses, strict=True), 2):
        (same if first == second else cross).append(float(a @ b))
    return Closeness(float(np.mean(same)), float(np.mean(cross)))
