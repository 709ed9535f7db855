"""How well the uses of a word are grouped by sense, against labels: adjusted Rand index, V-measure, paired F-score.

    senses.tsv      8 uses a word in two senses: few, but clear
    SemCor          uses of a lemma with WordNet's senses: fine, and lopsided
    pseudo-words    40 uses of two words written as one

The grouping of `polyseme.senses.clusters` by each readout, beside k-means on the word's own vectors (as the first
version did), all uses in one group, and as many random groups. A method is chosen on one half of the words and reported
on the other.
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
from polyseme.elmo import Elmo
from polyseme.lm.places import Place
from polyseme.probes.wsd_data import read_sense_set
from polyseme.senses.clusters import Labels, find_groups, k_means
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.triplets import mean_interval
from polyseme.senses.uses import Readout, Uses, read_uses
from pseudo_words import LabelledUses

Method = Callable[[Uses, Sequence[str]], Labels]

PSEUDO_USES = 20  #: of each of the two words
SEMCOR_LEMMAS, SEMCOR_USES, LEAST_USES = 60, 40, 40
#: The largest sense of a lemma has at most this share of its uses: else one group is nearly right.
LOPSIDED = 0.7
PARTS_OF_SPEECH = ("NOUN", "VERB", "ADJ")


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
            if name == "substitutes" and uses.substitutes is None:
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
    uses = uses_in_semcor(folder)
    words = [_labelled(lemma, found) for lemma, found in uses.items() if _is_fit(found)]
    return sorted(words, key=lambda word: _hash(word.word))[:SEMCOR_LEMMAS]


def uses_in_semcor(folder: Path) -> dict[tuple[str, str], list[tuple[str, Place]]]:
    """By lemma and part of speech, the uses of single words in sentences of at most 60: sense, place."""
    semcor, keys = read_sense_set(folder, "semcor")
    uses = defaultdict[tuple[str, str], list[tuple[str, Place]]](list)
    for sentence in semcor:
        for one in sentence.instances:
            if one.end - one.start == 1 and one.lemma[1] in PARTS_OF_SPEECH and len(sentence.tokens) <= 60:
                uses[one.lemma].append((min(keys[one.id]), Place(sentence.tokens, one.start, one.end)))
    return uses


def _is_fit(uses: list[tuple[str, Place]]) -> bool:
    largest = max(Counter(sense for sense, _ in uses).values())
    return len(uses) >= LEAST_USES and largest <= LOPSIDED * len(uses)


def _labelled(lemma: tuple[str, str], uses: list[tuple[str, Place]]) -> LabelledUses:
    chosen = sorted(uses, key=lambda one: _hash("\t".join(one[1].tokens)))[:SEMCOR_USES]
    return LabelledUses("/".join(lemma), tuple(sense for sense, _ in chosen), tuple(place for _, place in chosen))


def halves_by_name(words: Sequence[LabelledUses]) -> dict[str, list[LabelledUses]]:
    """For choosing and for reporting: every second word in the order of a digest of its name."""
    ordered = sorted(words, key=lambda word: _hash(word.word))
    return {"choosing": ordered[::2], "reporting": ordered[1::2]}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
