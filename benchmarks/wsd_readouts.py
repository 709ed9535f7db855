"""Word sense disambiguation by a word's vector, its place, its sentence, and all of them together.

Senses are predicted by the nearest mean in SemCor, as in the paper's section 5.3 (`polyseme.probes.wsd`): by each
readout alone, and by the weighted sum of their cosines. The weights are chosen within SemCor, with means from its first
half and words from its second half; results are reported on the test sets, with means from all of SemCor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from annotated import RAGANATO
from polyseme.elmo import Elmo
from polyseme.encoding import Encoding, Floats, unit
from polyseme.probes.frozen import BiLMVectors
from polyseme.probes.wsd import SAME_COSINE, encode_instances
from polyseme.probes.wsd_data import Lemma, SenseSentence, lemma_of, read_first_senses, read_sense_set
from polyseme.senses.uses import WordWeights

PARTS = ("word", "place", "sentence")
TOGETHER = "word, place and sentence"
READOUTS = (*PARTS, TOGETHER)
#: Weights of the other readouts, relative to the word's 1.
PLACE_WEIGHTS, SENTENCE_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0), (0.0, 0.25, 0.5, 1.0)
EVERY = 6  #: every so many sentences of SemCor's second half are used to choose the weights

Sums = dict[str, Floats]  # by sense: [PARTS, W]


@dataclass(frozen=True)
class ReadoutVectors(BiLMVectors):
    """One "layer" per readout, each of length one."""

    @property
    def layers(self) -> int:
        return len(PARTS)

    @cached_property
    def _weights(self) -> WordWeights:
        return WordWeights(self.elmo.vocabulary)

    def stream(self, sentences: Iterable[Sequence[str]]) -> Iterator[Floats]:
        return (self._read(encoding) for encoding in self.elmo.stream(sentences))

    def _read(self, encoding: Encoding) -> Floats:
        """[PARTS, N, W]"""
        return unit(np.stack([encoding.layers[-1], encoding.place, other_words(encoding, self._weights)]))


def other_words(encoding: Encoding, weights: WordWeights) -> Floats:
    """For each token, the weighted mean of all the others in the top layer. [N, W]"""
    weight = weights.of(encoding.tokens)[:, None]  # [N, 1]
    weighted = weight * encoding.layers[-1]
    rest: Floats = (weighted.sum(axis=0) - weighted) / np.maximum(weight.sum() - weight, 1e-9)
    return rest


@dataclass(frozen=True)
class Question:
    """A word in its sentence: how close each sense of its lemma is, by each readout."""

    senses: list[str]
    cosines: Floats  # [senses, PARTS]
    gold: frozenset[str]

    def answer(self, weights: Sequence[float]) -> str:
        return self.senses[int((self.cosines @ np.asarray(weights, np.float32)).argmax())]


@dataclass(frozen=True)
class Means:
    """The direction of the mean of each sense, by lemma and readout."""

    senses: Mapping[Lemma, list[str]]
    units: Mapping[Lemma, Floats]  # [senses, PARTS, W]
    first: Mapping[Lemma, str]  # of WordNet

    @classmethod
    def of(cls, sums: Sums, first: Mapping[Lemma, str]) -> Means:
        senses = defaultdict[Lemma, list[str]](list)
        for key in sorted(sums):
            senses[lemma_of(key)].append(key)
        return cls(senses, {lemma: unit(np.stack([sums[k] for k in keys])) for lemma, keys in senses.items()}, first)

    def ask(self, lemma: Lemma, vector: Floats, gold: frozenset[str]) -> Question:
        """WordNet's first sense is used for unseen lemmas, and if senses are equally near."""
        by_first = self.first.get(lemma, "")
        if lemma not in self.units:
            return Question([by_first], np.zeros((1, len(PARTS)), np.float32), gold)
        senses = self.senses[lemma]
        cosines = np.einsum("spw,pw->sp", self.units[lemma], unit(vector))
        if by_first in senses:
            cosines[senses.index(by_first)] += SAME_COSINE
        return Question(senses, cosines, gold)


def measure_wsd(elmo: Elmo, data: Path) -> dict[str, Any] | str:
    """F1 on each set and on all together; or why it was left out."""
    folder = data / "wsd"
    if elmo.lang != "en" or not folder.exists():
        return "left out: SemCor and the sets are English" if elmo.lang != "en" else f"left out: there is no {folder}"
    vectors = ReadoutVectors(elmo)
    first = read_first_senses(next(iter(sorted(folder.rglob("index.sense*")))))
    sums, weights = read_semcor(vectors, folder, first)
    means = Means.of(sums, first)
    asked = {name: list(_questions(vectors, means, folder, name)) for name in RAGANATO}
    asked["ALL"] = [question for questions in asked.values() for question in questions]
    firsts = {name: _first_right(folder, name, first) for name in RAGANATO}
    firsts["ALL"] = sum(firsts.values())
    figures: dict[str, Any] = {
        name: {
            "words": len(questions),
            "first sense": round(100 * firsts[name] / len(questions), 2),
            **{part: _f1(questions, np.eye(len(PARTS))[number]) for number, part in enumerate(PARTS)},
            TOGETHER: _f1(questions, weights),
        }
        for name, questions in asked.items()
    }
    return {"weights": dict(zip(PARTS, weights, strict=True)), "sets": figures}


def read_semcor(vectors: ReadoutVectors, folder: Path, first: Mapping[Lemma, str]) -> tuple[Sums, tuple[float, ...]]:
    """The sums of all senses, and the best weights, chosen with means of the first half on words of the second."""
    semcor, keys = read_sense_set(folder, "semcor")
    sentences = list(semcor)
    half = len(sentences) // 2
    sums: Sums = {}
    _add(sums, vectors, sentences[:half], keys)
    means = Means.of(sums, first)
    sample = sentences[half::EVERY]
    asked = [
        means.ask(instance.lemma, vector, keys[instance.id])
        for instance, vector in encode_instances(vectors, sample)
        if len(means.senses.get(instance.lemma, ())) > 1
    ]
    weights = max(
        ((1.0, place, sentence) for place, sentence in product(PLACE_WEIGHTS, SENTENCE_WEIGHTS)),
        key=lambda weights: _f1(asked, weights),
    )
    _add(sums, vectors, sentences[half:], keys)
    return sums, weights


def _add(sums: Sums, vectors: ReadoutVectors, sentences: Iterable[SenseSentence], keys: Mapping[str, Any]) -> None:
    for instance, vector in encode_instances(vectors, sentences):
        for key in keys.get(instance.id, ()):
            sums[key] = sums[key] + vector if key in sums else vector


def _questions(vectors: ReadoutVectors, means: Means, folder: Path, name: str) -> Iterator[Question]:
    sentences, gold = read_sense_set(folder, name)
    for instance, vector in encode_instances(vectors, sentences):
        yield means.ask(instance.lemma, vector, gold[instance.id])


def _first_right(folder: Path, name: str, first: Mapping[Lemma, str]) -> int:
    sentences, gold = read_sense_set(folder, name)
    instances = (one for sentence in sentences for one in sentence.instances)
    return sum(first.get(one.lemma, "") in gold[one.id] for one in instances)


def _f1(questions: Sequence[Question], weights: Sequence[float] | Floats) -> float:
    """F1 in percent; every word gets an answer, so precision and recall are equal to it."""
    right = sum(question.answer(list(weights)) in question.gold for question in questions)
    return round(100 * right / max(1, len(questions)), 2)
