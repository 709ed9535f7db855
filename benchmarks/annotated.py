"""Words annotated with WordNet senses: SemCor, and the five test sets of Raganato et al. (2017)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from polyseme.lm.places import Place
from polyseme.probes.wsd_data import Lemma, read_sense_set

RAGANATO = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
LONGEST = 60  #: most tokens in a sentence

AnnotatedUses = dict[Lemma, list[tuple[str, Place]]]


def annotated_uses(folder: Path, names: Iterable[str]) -> AnnotatedUses:
    """Nouns, verbs and adjectives of one token in the sets: lemma → the sense and the place of each use."""
    uses: AnnotatedUses = defaultdict(list)
    for name in names:
        sentences, keys = read_sense_set(folder, name)
        for sentence in sentences:
            for one in sentence.instances if len(sentence.tokens) <= LONGEST else ():
                if one.end - one.start == 1 and one.lemma[1] in ("NOUN", "VERB", "ADJ"):
                    uses[one.lemma].append((min(keys[one.id]), Place(sentence.tokens, one.start, one.end)))
    return uses
