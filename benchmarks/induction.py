"""How well the uses of a word are grouped by sense, against labels: adjusted Rand index, V-measure, paired F-score.

    senses.tsv      8 uses a word in two senses: few, but clear
    SemCor          uses of a lemma with WordNet's senses: fine, and lopsided
    Raganato        the five test sets of Raganato et al. (2017) as one, labelled in the same way: all for reporting
    pseudo-words    40 uses of two words written as one

The grouping of `polyseme.senses.clusters` by each readout, beside k-means on the word's own vectors (as the first
version did), all uses in one group, and as many random groups. A method is chosen on one half of the words and reported
on the other; nothing was ever chosen on Raganato's.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from agreement import adjusted_rand, contingency, paired_f, v_measure
from annotated import RAGANATO, AnnotatedUses, annotated_uses
from polyseme.elmo import Elmo
from polyseme.senses.clusters import Labels, find_groups, k_means
from polyseme.senses.labelled import mean_interval
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.uses import Readout, Uses, read_uses
from pseudo_words import LabelledUses

Method = Callable[[Uses, Sequence[str]], Labels]

PSEUDO_USES = 20  #: of each of the two words
SEMCOR_LEMMAS, SEMCOR_USES = 60, 40
RAGANATO_USES = 8  #: at least; of few lemmas there are more than twice as many
#: The largest sense of a lemma has at most this share of its uses: else one group is nearly right.
LOPSIDED = 0.7


def by_readout(by: Readout) -> Method:
    return lambda uses, _: find_groups(uses.similarities(uses, by))


def first_version(uses: Uses, _: Sequence[str]) -> Labels:
    """k-means on the mean of the layers, two groups."""
    return k_means(uses.word.mean(axis=0), 2) if len(uses) >= 2 else np.zeros(len(uses), np.int64)


def one_group(uses: Uses, _: Sequence[str]) -> Labels:
    return np.zeros(len(uses), np.int64)


def random_groups(uses: Uses, senses: Sequence[str]) -> Labels:
    """As many as there are senses; other ones for every word."""
    return np.random.default_rng(crc32("\t".join(senses).encode())).integers(len(set(senses)), size=len(uses))


METHODS: dict[str, Method] = {
    "all in one group": one_group,
    "random groups": random_groups,
    "word: k-means on the mean of the layers": first_version,
    "word": by_readout("word"),
    "sentence": by_readout("sentence"),
    "topic": by_readout("topic"),
    "place": by_readout("place"),
    "substitutes": by_readout("substitutes"),
    "sense": by_readout("sense"),
}


def score_methods(elmo: Elmo, words: Sequence[LabelledUses]) -> dict[str, Any]:
    """The mean over words of each figure, by method."""
    every = read_uses(elmo, [place for word in words for place in word.places], lexicon_or_none(elmo))
    found: dict[str, dict[str, list[float]]] = {}
    begin = 0
    for word in words:
        uses = every[begin : begin + len(word.places)]
        begin += len(word.places)
        for name, method in METHODS.items():
            if getattr(uses, name, uses) is None:  # a readout that this model does not have
                continue
            labels = method(uses, word.senses)
            figures = found.setdefault(name, defaultdict(list))
            table = contingency(word.senses, labels.tolist())
            figures["ARI"].append(adjusted_rand(table))
            figures["V-measure"].append(v_measure(table))
            figures["paired F"].append(paired_f(table))
            figures["groups"].append(float(labels.max() + 1))
    return {
        name: {
            "words": len(words),
            "ARI": [round(value, 4) for value in _interval(figures["ARI"])],
            **{key: round(float(np.mean(figures[key])), 4) for key in ("V-measure", "paired F", "groups")},
        }
        for name, figures in found.items()
    }


def _interval(values: list[float]) -> tuple[float, float, float]:
    found = mean_interval(values)
    return found.mean, found.low, found.high


def semcor_words(folder: Path) -> list[LabelledUses]:
    """Uses of lemmas with at least two senses of some weight, always the same ones."""
    words = fit_words(annotated_uses(folder, ["semcor"]), SEMCOR_USES)
    return [sampled(word) for word in sorted(words, key=lambda word: _hash(word.word))[:SEMCOR_LEMMAS]]


def raganato_words(folder: Path) -> list[LabelledUses]:
    """All lemmas of the test sets that are fit."""
    return fit_words(annotated_uses(folder, RAGANATO), RAGANATO_USES)


def fit_words(uses: AnnotatedUses, least: int) -> list[LabelledUses]:
    """The lemmas with so many uses, and at least two senses of some weight."""
    return [
        LabelledUses("/".join(lemma), *zip(*found, strict=True))
        for lemma, found in uses.items()
        if len(found) >= least and max(Counter(sense for sense, _ in found).values()) <= LOPSIDED * len(found)
    ]


def sampled(word: LabelledUses) -> LabelledUses:
    """At most so many of its uses, always the same ones."""
    pairs = zip(word.senses, word.places, strict=True)
    chosen = sorted(pairs, key=lambda one: _hash("\t".join(one[1].tokens)))[:SEMCOR_USES]
    return LabelledUses(word.word, *zip(*chosen, strict=True))


def halves_by_name(words: Sequence[LabelledUses]) -> dict[str, list[LabelledUses]]:
    """For choosing and for reporting: every second word in the order of a digest of its name."""
    ordered = sorted(words, key=lambda word: _hash(word.word))
    return {"choosing": ordered[::2], "reporting": ordered[1::2]}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
