"""How well `polyseme shift` finds change when the amount of change is known.

    simulated     uses of SemCor's lemmas in two "texts" with different shares of senses; the change is the
                  Jensen–Shannon distance of the labelled senses (after Schlechtweg and Schulte im Walde, 2020)
    the same      two halves of one corpus, by documents: nothing changed, so 5 % of the words should have p < 0.05
    NorDiaChange  Norwegian words with human scores of change, for a model that reads Norwegian
    two texts     novels and the encyclopaedia: a demonstration, without labels

The measure and the readout that rank words are chosen on one half of SemCor's lemmas and reported on the other.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from annotated import annotated_uses
from induction import halves_by_name
from polyseme.elmo import Elmo
from polyseme.lm.places import Place
from polyseme.senses.clusters import find_groups
from polyseme.senses.collect import Blocks, WordSample, sample_words
from polyseme.senses.labelled import RESAMPLES
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.shift_measures import MEASURES, Measured, measure_shift
from polyseme.senses.shift_samples import choose_words
from polyseme.senses.shifted_word import LEAST_USES, compare_samples
from polyseme.senses.uses import Readout, Uses, read_uses
from polyseme.text.readers import Document, read_documents
from pseudo_words import LabelledUses

Figures = dict[str, Any]

READOUTS: tuple[Readout, ...] = ("word", "place", "substitutes", "sense")
LEMMAS, LEAST, MOST = 120, 40, 80
SAME_WORDS, SAME_USES = 150, 40
NOVELS, ENCYCLOPAEDIA = "en-novels", "enwiki-core-1"
LINES = 12_000  #: lines of each text in the demonstration
SHOWN = 12


def measure_shifts(elmo: Elmo, data: Path) -> Figures | str:
    """Everything for which there is data."""
    if elmo.lang != "en" or not (data / "wsd").exists():
        return "left out: SemCor is English" if elmo.lang != "en" else f"left out: there is no {data}/wsd"
    found: Figures = {"simulated": simulated(elmo, data / "wsd")}
    corpora = data / "corpora" / "en"
    if corpora.exists():
        found["the same"] = halves_of_one(elmo, corpora / f"{ENCYCLOPAEDIA}.txt.xz")
        found["two texts"] = two_texts(elmo, corpora)
    return found


def simulated(elmo: Elmo, folder: Path) -> Figures:
    """Spearman's rank correlation of measured and true change, by readout and measure, on each half of the lemmas."""
    halves = halves_by_name(many_semcor_words(folder))
    return {half: _correlations(elmo, words) for half, words in halves.items()}


def many_semcor_words(folder: Path) -> list[LabelledUses]:
    uses = annotated_uses(folder, ["semcor"])
    fit = {lemma: found for lemma, found in uses.items() if len(found) >= LEAST and len({s for s, _ in found}) > 1}
    chosen = sorted(fit, key=lambda lemma: crc32("/".join(lemma).encode()))[:LEMMAS]
    return [_drifting(lemma, fit[lemma]) for lemma in chosen]


def _drifting(lemma: tuple[str, str], uses: list[tuple[str, Place]]) -> LabelledUses:
    """The uses in an order in which the two halves have more or less different shares of the senses."""
    random = np.random.default_rng(crc32("/".join(lemma).encode()))
    taken = [uses[number] for number in random.permutation(len(uses))[:MOST]]
    largest = Counter(sense for sense, _ in taken).most_common(1)[0][0]
    drift = random.random()  # 0: drawn equally; 1: the largest sense comes first, as far as possible
    early = [drift * (sense == largest) + (1 - drift) * random.random() for sense, _ in taken]
    ordered = [taken[number] for number in np.argsort(early)[::-1]]
    return LabelledUses("/".join(lemma), tuple(sense for sense, _ in ordered), tuple(place for _, place in ordered))


def _correlations(elmo: Elmo, words: Sequence[LabelledUses]) -> Figures:
    every = read_uses(elmo, [place for word in words for place in word.places], lexicon_or_none(elmo))
    truth, found, begin = [], defaultdict[str, list[float]](list), 0
    for word in words:
        uses = every[begin : begin + len(word.places)]
        begin += len(word.places)
        half = len(word.places) // 2
        truth.append(_true_distance(word.senses[:half], word.senses[half:]))
        for by in READOUTS:
            for name, one in _measure(uses, by, half).items():
                found[f"{by}, {name}"].append(one.value)
                found[f"{by}, {name}, less chance"].append(one.excess)
    return {"words": len(words), **{name: spearman(values, truth) for name, values in found.items()}}


def _measure(uses: Uses, by: Readout, half: int) -> dict[Any, Measured]:
    similarity = uses.similarities(uses, by)
    return dict(measure_shift(similarity, find_groups(similarity), half, list(range(len(uses)))))


def _true_distance(before: Sequence[str], after: Sequence[str]) -> float:
    names = sorted({*before, *after})
    one, other = (np.array([senses.count(name) / len(senses) for name in names]) for senses in (before, after))
    middle = (one + other) / 2

    def entropy(shares: Any) -> float:
        positive = shares[shares > 0]
        return float(-(positive * np.log2(positive)).sum())

    return float(np.sqrt(max(0.0, entropy(middle) - (entropy(one) + entropy(other)) / 2)))


def spearman(values: Sequence[float], truth: Sequence[float]) -> list[float]:
    """The correlation with its bootstrap interval over words."""
    a, b = np.asarray(values), np.asarray(truth)
    drawn = np.random.default_rng(0).integers(len(a), size=(RESAMPLES, len(a)))
    many = [_rank_correlation(a[rows], b[rows]) for rows in drawn]
    low, high = np.quantile(many, [0.025, 0.975])
    return [round(float(value), 3) for value in (_rank_correlation(a, b), low, high)]


def _rank_correlation(a: Any, b: Any) -> float:
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Any) -> Any:
    """Ranks; equal values get the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


def halves_of_one(elmo: Elmo, path: Path) -> Figures:
    """The share of words with p < 0.05 though nothing changed, by measure: documents alternate between the sides."""
    documents = list(islice(read_documents([path]), LINES))
    blocks, halves = Blocks(documents, 100), (list[Document](), list[Document]())
    for document in blocks:
        halves[blocks.number % 2].append(document)
    samples = sample_sides(elmo, halves, SAME_WORDS, SAME_USES)
    found = [compare_samples(elmo, word, *pair).measures for word, pair in samples.items()]
    return {
        "words": len(found),
        **{name: round(float(np.mean([one[name].p < 0.05 for one in found])), 4) for name in MEASURES},
    }


def sample_sides(
    elmo: Elmo, sides: Sequence[Sequence[Document]], most_words: int, most_uses: int
) -> dict[str, tuple[WordSample, WordSample]]:
    """The frequent words of both sides with their occurrences."""
    counts = []
    for side in sides:
        sentences = (sentence for one in side for sentence in elmo.split(one.text or ""))
        counts.append(Counter(token.casefold() for sentence in sentences for token in sentence.tokens))
    words = choose_words(counts[0], counts[1], most_words)
    first, second = (sample_words(elmo, words, side, most_uses, block=100) for side in sides)
    pairs = {word: (first[word], second[word]) for word in words}
    return {word: pair for word, pair in pairs.items() if min(len(one.kept) for one in pair) >= LEAST_USES}


def two_texts(elmo: Elmo, corpora: Path) -> Figures:
    """Novels compared with the encyclopaedia: the most changed words, and how many there are."""
    sides = [list(islice(read_documents([corpora / f"{name}.txt.xz"]), LINES)) for name in (NOVELS, ENCYCLOPAEDIA)]
    samples = sample_sides(elmo, sides, SAME_WORDS, SAME_USES)
    found = [compare_samples(elmo, word, *pair) for word, pair in samples.items()]
    found.sort(key=lambda one: -one.measures["APD"].excess)
    return {
        "words": len(found),
        "p < 0.05": round(float(np.mean([one.measures["APD"].p < 0.05 for one in found])), 4),
        "most changed": [
            {
                "word": one.word,
                "APD": round(one.measures["APD"].value, 3),
                "chance": round(one.measures["APD"].chance, 3),
                "p": round(one.measures["APD"].p, 4),
                "came": list(one.senses[0].names),
                "went": list(one.senses[-1].names),
            }
            for one in found[:SHOWN]
        ],
    }


def nordiachange(elmo: Elmo, folder: Path) -> Figures:
    """Spearman's correlation with human scores of graded change, for both subsets and each measure."""
    return {name: _one_subset(elmo, folder / name) for name in ("subset1", "subset2")}


def _one_subset(elmo: Elmo, folder: Path) -> Figures:
    with (folder / "stats" / "opt" / "stats_groupings.tsv").open(encoding="utf-8") as file:
        gold = {row["lemma"]: float(row["change_graded"]) for row in csv.DictReader(file, delimiter="\t")}
    truth, found = list[float](), defaultdict[str, list[float]](list)
    for word, change in gold.items():
        sides = _word_uses(elmo, folder / "data" / word / "uses.tsv")
        if sides is None:
            continue
        places = [place for side in sides for place in side]
        uses = read_uses(elmo, places, lexicon_or_none(elmo))
        truth.append(change)
        for name, one in _measure(uses, "sense", len(sides[0])).items():
            found[str(name)].append(one.value)
    return {"words": len(truth), **{name: spearman(values, truth) for name, values in found.items()}}


def _word_uses(elmo: Elmo, path: Path) -> tuple[list[Place], list[Place]] | None:
    """The places in the earlier and in the later period."""
    periods = defaultdict[str, list[Place]](list)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            begin, end = map(int, row["indexes_target_token"].split(":"))
            place = _place(elmo, row["context"], begin, end)
            if place is not None:
                periods[row["grouping"]].append(place)
    if len(periods) != 2:
        return None
    (_, earlier), (_, later) = sorted(periods.items())
    return earlier, later


def _place(elmo: Elmo, text: str, begin: int, end: int) -> Place | None:
    for sentence in elmo.split(text):
        inside = [number for number, (a, b) in enumerate(sentence.offsets) if a < end and b > begin]
        if inside:
            return Place(sentence.tokens, inside[0], inside[-1] + 1)
    return None
