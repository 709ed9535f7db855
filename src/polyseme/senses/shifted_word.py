"""How the meaning of one word changed from one text to another: measures, and the senses that came and went.

found = word_shift(elmo, "cell", before, after)
found.measures["APD"].p
for sense in found.senses:
    print(sense.names, sense.before, sense.after, sense.sentences)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from zlib import crc32

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.errors import InputError
from polyseme.index.occurrences import Occurrence
from polyseme.prepared_text import Item, as_documents
from polyseme.senses.clusters import Labels
from polyseme.senses.collect import WordSample, sample_words
from polyseme.senses.sense_map import GroupNames, clearest_first, group_uses, places_of
from polyseme.senses.shift_measures import Measured, ShiftMeasure, measure_shift
from polyseme.senses.uses import Readout

#: Uses of a word that are looked at in each text, unless said otherwise; and that there have to be.
MOST_USES, LEAST_USES = 100, 5
#: What distances are measured by: the best on simulated change (docs/senses.md). Groups, for JSD, are by sense.
COMPARED_BY: Readout = "place"
#: Sentences that are kept of a sense, of either text.
SENTENCES = 3


@dataclass(frozen=True, slots=True)
class ShiftedSense:
    """Uses that are alike, and how large their share is before and after."""

    names: tuple[str, ...]  #: words that could stand in their places
    around: tuple[str, ...]  #: words that do stand around them
    before: float
    after: float
    sentences_before: tuple[str, ...]  #: with the word in brackets, the clearest first
    sentences_after: tuple[str, ...]

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class WordShift:
    """One word in two texts."""

    word: str
    totals: tuple[int, int]  #: occurrences in the texts
    looked_at: tuple[int, int]  #: of them
    measures: Mapping[ShiftMeasure, Measured]
    senses: tuple[ShiftedSense, ...]  #: that which grew most first


def word_shift(
    elmo: Elmo,
    word: str,
    before: str | Iterable[Item],
    after: str | Iterable[Item],
    *,
    most: int = MOST_USES,
    seed: int = 0,
) -> WordShift:
    """A word in two lists of texts (each text is a document of its own, which is shuffled as a whole)."""
    samples = [sample_words(elmo, [word], as_documents(texts), most, seed=seed)[word] for texts in (before, after)]
    return compare_samples(elmo, word, samples[0], samples[1], seed=seed)


def compare_samples(elmo: Elmo, word: str, before: WordSample, after: WordSample, *, seed: int = 0) -> WordShift:
    """A word whose occurrences are there. InputError where there are too few."""
    for which, sample in (("first", before), ("second", after)):
        if len(sample.kept) < LEAST_USES:
            found = f"{sample.total or 'no'} use{'s' if sample.total != 1 else ''}"
            raise InputError(f"the word {word!r} has {found} in the {which} text; at least {LEAST_USES} are needed")
    occurrences = [*before.kept, *after.kept]
    uses, similarity, labels, called = group_uses(elmo, word, places_of(occurrences))
    count = len(before.kept)
    blocks = [*before.blocks, *after.blocks]  # those of the two texts are told apart by their text
    measures = measure_shift(
        uses.similarities(uses, COMPARED_BY), labels, count, blocks, seed=[seed, crc32(word.encode())]
    )
    senses = [_sense(one, number, labels, similarity, occurrences, count) for number, one in enumerate(called)]
    return WordShift(
        word=word,
        totals=(before.total, after.total),
        looked_at=(count, len(after.kept)),
        measures=measures,
        senses=tuple(sorted(senses, key=lambda sense: -sense.change)),
    )


def _sense(
    called: GroupNames,
    number: int,
    labels: Labels,
    similarity: Floats,
    occurrences: Sequence[Occurrence],
    before: int,
) -> ShiftedSense:
    ordered = clearest_first(number, labels, similarity)
    early, late = [row for row in ordered if row < before], [row for row in ordered if row >= before]
    return ShiftedSense(
        names=called.names,
        around=called.around,
        before=len(early) / before,
        after=len(late) / (len(labels) - before),
        sentences_before=_sentences(occurrences[row] for row in early),
        sentences_after=_sentences(occurrences[row] for row in late),
    )


def _sentences(occurrences: Iterable[Occurrence]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(one.marked for one in occurrences), SENTENCES))
