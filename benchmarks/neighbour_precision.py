"""How often a neighbour has the right sense according to labels, by readout: two tests of `Index.neighbours`.

    same word     for every labelled use in senses.tsv: does the nearest other use of its word have the same sense?
    any word      for annotated words of SemCor: are the nearest annotated words of other lemmas in the same class of
                  meanings? The classes are WordNet's 45 (person, food, time, …), which every sense key names.

The default of `polyseme neighbours` is the readout that is best on the words reserved for choosing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.lm.places import Place
from polyseme.probes.wsd_data import read_sense_set
from polyseme.senses.labelled import mean_interval, nearest_accuracy
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.uses import Uses, read_uses
from pseudo_words import LabelledUses

Figures = dict[str, Any]

SENTENCES = 6000  #: sentences of SemCor, evenly spread
QUESTIONS, AMONG, NEAREST = 300, 4000, 10


def class_of(key: str) -> str:
    """ "bank%1:17:01::" → "1:17", the part of speech and the class of meanings."""
    return ":".join(key.partition("%")[2].split(":")[:2])


def annotated_nouns(folder: Path) -> list[tuple[str, str, Place]]:
    """Lemma, class and place of nouns from all of SemCor, in an unrelated order."""
    semcor, keys = read_sense_set(folder, "semcor")
    found = [
        (one.lemma[0], class_of(min(keys[one.id])), Place(sentence.tokens, one.start, one.end))
        for sentence in islice(semcor, 0, None, 37176 // SENTENCES)
        for one in sentence.instances
        if one.lemma[1] == "NOUN" and one.end - one.start == 1 and 6 <= len(sentence.tokens) <= 60
    ]
    return sorted(found, key=lambda one: _digest(one[0], *one[2].tokens))


def measure_any_word(elmo: Elmo, folder: Path) -> Figures:
    """The share of the ten nearest nouns of other lemmas in the same class; questions by halves of lemmas."""
    nouns = annotated_nouns(folder)
    asked, among = nouns[:QUESTIONS], nouns[QUESTIONS : QUESTIONS + AMONG]
    lexicon = lexicon_or_none(elmo)
    here = read_uses(elmo, [place for _, _, place in asked], lexicon)
    there = read_uses(elmo, [place for _, _, place in among], lexicon)
    lemmas, classes = (np.array([noun[column] for noun in among]) for column in (0, 1))
    half = np.array([int(_digest(lemma), 16) % 2 for lemma, _, _ in asked])
    found: Figures = {"choosing": {}, "reporting": {}}
    for name, similarities in between(here, there).items():
        right = []
        for (lemma, meaning, _), row in zip(asked, similarities, strict=True):
            others = np.flatnonzero(lemmas != lemma)
            nearest = others[np.argsort(-row[others], kind="stable")[:NEAREST]]
            right.append(float((classes[nearest] == meaning).mean()))
        for number, which in enumerate(found):
            one = mean_interval(np.array(right)[half == number])
            found[which][name] = [round(value, 4) for value in (one.mean, one.low, one.high)]
    return {"questions": len(asked), "among": len(among), **found}


def between(here: Uses, there: Uses) -> dict[str, Floats]:
    """Similarities by every readout that users can choose. [n, m] each"""
    found = {"word": here.similarities(there, "word")}
    found |= {by: here.similarities(there, by) for by in ("place", "substitutes", "sense")}
    return found


def same_word_figures(every: Uses, words: Sequence[LabelledUses]) -> dict[str, list[float]]:
    """The precision of each word, by readout; ``every`` has the uses of all words, in order."""
    found: dict[str, list[float]] = {}
    begin = 0
    for word in words:
        uses = every[begin : begin + len(word.places)]
        begin += len(word.places)
        for name, similarities in between(uses, uses).items():
            found.setdefault(name, []).append(nearest_accuracy(similarities, word.senses))
    return found


def _digest(*texts: str) -> str:
    return hashlib.sha256("\t".join(texts).encode()).hexdigest()
