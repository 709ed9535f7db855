"""Whether the names of a group name its sense: SemCor's uses of a lemma, grouped by their labels, not by us.

Every sense of WordNet belongs to one of 45 classes (person, food, time, …). A name is right where its own first sense
is of the class of the group's sense. Good names need not be: a shore is an object, a side is a location.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annotated import annotated_uses
from induction import fit_words, halves_by_name, sampled
from neighbour_precision import class_of
from polyseme.elmo import Elmo
from polyseme.probes.wsd_data import Lemma, read_first_senses
from polyseme.senses.labelled import mean_interval
from polyseme.senses.sense_names import name_groups
from polyseme.senses.uses import read_uses
from pseudo_words import LabelledUses

LEMMAS, USES, LEAST_IN_GROUP = 60, 30, 4
#: Endings of English that are taken off, and what takes their place.
ENDINGS = (("", ""), ("ies", "y"), ("s", ""), ("es", ""), ("ed", ""), ("d", ""), ("ing", ""), ("ing", "e"))


def measure_names(elmo: Elmo, data: Path) -> dict[str, Any] | str:
    """The share of right names, a mean over groups with its interval: lemmas for choosing and for reporting."""
    folder = data / "wsd"
    if elmo.lang != "en" or not folder.exists():
        return "left out: needs English and its annotated senses (wsd)"
    first = read_first_senses(next(iter(sorted(folder.rglob("index.sense*")))))
    words = fit_words(annotated_uses(folder, ["semcor"]), USES)
    halves = halves_by_name([word for word in words if word.word.endswith(("/NOUN", "/VERB"))])
    found: dict[str, Any] = {}
    for half, those in halves.items():
        shares = [share for word in those[:LEMMAS] for share in name_shares(elmo, sampled(word), first)]
        one = mean_interval(shares)
        found[half] = {"groups": len(shares), "share": [round(value, 4) for value in (one.mean, one.low, one.high)]}
    return found


def name_shares(elmo: Elmo, word: LabelledUses, first: Mapping[Lemma, str]) -> Iterator[float]:
    """For each sense of a lemma with uses enough, the share of its names that are right."""
    lemma, part = word.word.split("/")
    senses = [sense for sense, count in Counter(word.senses).items() if count >= LEAST_IN_GROUP]
    if len({class_of(sense) for sense in senses}) < 2:
        return
    kept = [number for number, sense in enumerate(word.senses) if sense in senses]
    uses = read_uses(elmo, [word.places[number] for number in kept], elmo.lexicon)
    labels = np.array([senses.index(word.senses[number]) for number in kept])
    assert uses.substitutes is not None
    named = name_groups(lemma, labels, uses.place, uses.substitutes, elmo.lexicon)
    for sense, names in zip(senses, named, strict=True):
        right = [_class_of_word(name.lower(), part, first) == class_of(sense) for name in names]
        yield float(np.mean(right)) if right else 0.0


def _class_of_word(name: str, part: str, first: Mapping[Lemma, str]) -> str | None:
    forms = (name.removesuffix(ending) + instead for ending, instead in ENDINGS if name.endswith(ending))
    keys = (first.get((form, part)) for form in forms)
    return next((class_of(key) for key in keys if key), None)
