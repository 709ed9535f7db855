"""Word sense disambiguation by the nearest sense: the mean vector of each sense in annotated text, compared by cosine.

    annotated text ─ vectors ─► one mean per sense and layer          (SenseMeans)
    a word of a test set ─ vectors ─► the sense of its lemma whose mean is nearest; WordNet's first sense if the
                                      annotated text lacks the lemma  (Peters et al., 2018, section 5.3)

Nothing is trained. If senses are equally near, WordNet's first one is taken. Every word gets an answer, so precision,
recall and F1 are equal.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.encoding import unit
from polyseme.errors import InputError
from polyseme.probes.frozen import FrozenVectors
from polyseme.probes.wsd_data import Instance, Lemma, SenseSentence, lemma_of, read_first_senses, read_sense_set

Keys = Mapping[str, frozenset[str]]
Floats = npt.NDArray[np.float32]
#: Called after each sentence with the number of tokens read.
Report = Callable[[int], None]

SAME_COSINE = 1e-5  # the precision of float32


@dataclass(frozen=True)
class SenseMeans:
    """For each lemma in annotated text, the directions of the mean vectors of its senses."""

    senses: Mapping[Lemma, list[str]]
    units: Mapping[Lemma, Floats]  # by lemma: [senses, L, W], each of length one

    @classmethod
    def read(
        cls,
        vectors: FrozenVectors,
        sentences: Iterable[SenseSentence],
        keys: Keys,
        lemmas: set[Lemma] | None = None,
        report: Report | None = None,
    ) -> SenseMeans:
        """Add up the vectors of annotated text; only sums are kept, and only those of ``lemmas``, if given."""
        sums: dict[str, npt.NDArray[np.float64]] = {}
        for instance, vector in encode_instances(vectors, sentences, report):
            for key in keys.get(instance.id, ()):
                if lemmas is None or lemma_of(key) in lemmas:
                    sums[key] = sums[key] + vector if key in sums else vector.astype(np.float64)
        if not sums:
            raise InputError("no word of the annotated text has one of the senses to predict")
        senses = defaultdict[Lemma, list[str]](list)
        for key in sorted(sums):
            senses[lemma_of(key)].append(key)
        units = {
            lemma: unit(np.stack([sums[key] for key in keys_of]).astype(np.float32))
            for lemma, keys_of in senses.items()
        }
        return cls(dict(senses), units)

    def nearest(self, lemma: Lemma, vector: Floats, first: str | None = None) -> list[str] | None:
        """The sense whose mean is nearest to a vector [L, W], by layer; None for an unseen lemma.

        If several are equally near, as is common with static vectors, the ``first`` sense is taken.
        """
        if lemma not in self.senses:
            return None
        senses = self.senses[lemma]
        cosines = (self.units[lemma] * unit(vector)).sum(axis=2)  # [senses, L]
        if first in senses:
            cosines[senses.index(first)] += SAME_COSINE
        return [senses[number] for number in cosines.argmax(axis=0)]


@dataclass(frozen=True, slots=True)
class SenseScore:
    """How many words of a set got one of their gold senses."""

    words: int
    seen: int  #: words whose lemma is in the annotated text
    right: list[int]  #: by layer
    first_sense: int  #: words that WordNet's first sense alone gets right

    @property
    def f1(self) -> list[float]:
        return [right / max(1, self.words) for right in self.right]

    @property
    def first_sense_f1(self) -> float:
        return self.first_sense / max(1, self.words)

    def __add__(self, other: SenseScore) -> SenseScore:
        right = [a + b for a, b in zip(self.right, other.right, strict=True)]
        return SenseScore(self.words + other.words, self.seen + other.seen, right, self.first_sense + other.first_sense)


def encode_instances(
    vectors: FrozenVectors, sentences: Iterable[SenseSentence], report: Report | None = None
) -> Iterator[tuple[Instance, Floats]]:
    """Every instance with its vector [L, W]: the mean over its tokens."""
    waiting = deque[SenseSentence]()  # given to the model but not yet returned: as many as it reads ahead

    def tokens() -> Iterator[list[str]]:
        for sentence in sentences:
            if sentence.instances:
                waiting.append(sentence)
                yield sentence.tokens

    read = 0
    for layers in vectors.stream(tokens()):
        sentence = waiting.popleft()
        read += len(sentence.tokens)
        if report is not None:
            report(read)
        for instance in sentence.instances:
            yield instance, layers[:, instance.start : instance.end].mean(axis=1)


def score_senses(
    vectors: FrozenVectors,
    means: SenseMeans,
    sentences: Iterable[SenseSentence],
    gold: Keys,
    first: Mapping[Lemma, str],
) -> SenseScore:
    """How many words of a set get one of their gold senses, by layer and by the first sense alone."""
    total = SenseScore(0, 0, [0] * vectors.layers, 0)
    for instance, vector in encode_instances(vectors, sentences):
        if instance.id not in gold:
            raise InputError(f"the instance {instance.id} has no gold key")
        by_first = first.get(instance.lemma, "")
        found = means.nearest(instance.lemma, vector, by_first)
        answers = found or [by_first] * vectors.layers
        total += SenseScore(
            words=1,
            seen=int(found is not None),
            right=[int(answer in gold[instance.id]) for answer in answers],
            first_sense=int(by_first in gold[instance.id]),
        )
    return total


def evaluate_senses(
    vectors: FrozenVectors,
    folder: Path,
    sets: Iterable[str],
    report: Report | None = None,
    *,
    most: int | None = None,
) -> dict[str, SenseScore]:
    """Means from SemCor, scores on the named sets, all below ``folder``: "semeval2007", "senseval2", …

    ``most`` is the number of SemCor sentences to read, from the beginning; by default all.
    """
    names = list(sets)
    first = read_first_senses(next(iter(sorted(folder.rglob("index.sense*")) or [folder / "index.sense"])))
    lemmas = {
        instance.lemma
        for name in names
        for sentence in read_sense_set(folder, name)[0]
        for instance in sentence.instances
    }
    semcor, keys = read_sense_set(folder, "semcor")
    means = SenseMeans.read(vectors, islice(semcor, most), keys, lemmas, report)
    return {name: score_senses(vectors, means, *read_sense_set(folder, name), first) for name in names}
