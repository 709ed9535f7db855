"""The sense map: the occurrences of a word in a text, in groups with names, and in one plane for all layers.

found = SenseMap.of(elmo, "bank", texts)
for group in found.groups:
    print(group.names, group.share, group.sentences[:3])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.errors import InputError
from polyseme.index.occurrences import Occurrence
from polyseme.index.vector_index import Index
from polyseme.lm.places import Place
from polyseme.prepared_text import Item, as_documents
from polyseme.senses.clusters import Labels, find_groups
from polyseme.senses.collect import sample_files, sample_words
from polyseme.senses.projection import Plane, SimilarityPlane, fit_plane, fit_similarity_plane
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_names import name_groups, words_around
from polyseme.senses.uses import Uses, WordWeights, read_uses

#: Occurrences on a map; of more, some are drawn.
MOST_POINTS = 300
#: Occurrences with the same capitals that make a map.
ENOUGH = 8


@dataclass(frozen=True, slots=True)
class SenseGroup:
    """Occurrences that are used alike."""

    names: tuple[str, ...]  #: words that could stand in their places; none where the model has no softmax
    share: float  #: of the occurrences on the map
    occurrences: tuple[Occurrence, ...]  #: the clearest first: like its own group and unlike the others
    around: tuple[str, ...] = ()  #: words that stand around its occurrences, and not around the others

    @property
    def sentences(self) -> list[str]:
        """With the word in brackets, each once, the clearest first."""
        return list(dict.fromkeys(one.marked for one in self.occurrences))


@dataclass(frozen=True, eq=False)
class SenseMap:
    """All about a word that does not depend on the sentence that was typed."""

    word: str
    total: int  #: occurrences in the text, of which n are on the map
    occurrences: list[Occurrence]
    uses: Uses  #: of the n occurrences
    plane: Plane
    points: Floats  # [L+1, n, 2]
    sense_plane: SimilarityPlane
    sense_points: Floats  # [n, 2] by "sense", as the groups are
    labels: Labels  # [n] the group of each
    groups: tuple[SenseGroup, ...]  #: the largest first

    @classmethod
    def of(cls, elmo: Elmo, word: str, texts: Index | str | Iterable[Item]) -> SenseMap:
        """The map of a word in an index, or in texts (of which one may be large: only the word's sentences are read).

        Where the word does not occur, an InputError says so.
        """
        if isinstance(texts, Index):
            occurrences, total = find_occurrences(word, texts), texts.count(word)
        else:
            sample = sample_words(elmo, [word], as_documents(texts), MOST_POINTS)[word]
            occurrences, total = sample.kept, sample.total
        if not occurrences:
            raise InputError(absent(elmo, word, "the text"))
        return map_occurrences(elmo, word, occurrences, total)


def map_in_files(
    elmo: Elmo,
    word: str,
    inputs: Sequence[str | Path],
    *,
    kind: str | None = None,
    field: str | None = None,
    called: str = "",
) -> SenseMap:
    """The map of a word in files of any size and kind (all that `polyseme.text.readers.read_documents` takes).

    ``called``: how an error names the files.
    """
    sample = sample_files(elmo, [word], inputs, MOST_POINTS, kind=kind, field=field)[word]
    if not sample.kept:
        raise InputError(absent(elmo, word, called or ", ".join(map(str, inputs))))
    return map_occurrences(elmo, word, sample.kept, sample.total)


def absent(elmo: Elmo, word: str, where: str) -> str:
    """Why there is no map of a word."""
    tokens = [token for sentence in elmo.split(word) for token in sentence.tokens]
    if len(tokens) > 1:
        return f"this model reads {word!r} as {len(tokens)} tokens, {' '.join(tokens)}; ask for one of them"
    return f"the word {word!r} does not occur in {where}"


def map_occurrences(elmo: Elmo, word: str, occurrences: Sequence[Occurrence], total: int | None = None) -> SenseMap:
    """The map of some occurrences of a word; at least one."""
    alike = same_spelling(word, occurrences)
    chosen = [alike[number] for number in spread(len(alike), MOST_POINTS)]
    uses, similarity, labels, named = group_uses(elmo, word, places_of(chosen))
    plane = fit_plane(uses.word)
    points = plane.place(uses.word)
    sense_plane = fit_similarity_plane(similarity, points[-1])
    return SenseMap(
        word=word,
        total=len(occurrences) if total is None else total,
        occurrences=chosen,
        uses=uses,
        plane=plane,
        points=points,
        sense_plane=sense_plane,
        sense_points=sense_plane.place(similarity),
        labels=labels,
        groups=tuple(_group(called, number, labels, similarity, chosen) for number, called in enumerate(named)),
    )


@dataclass(frozen=True, slots=True)
class GroupNames:
    """What a group is called: nothing where the model has no softmax."""

    names: tuple[str, ...] = ()  #: words that could stand in its places
    around: tuple[str, ...] = ()  #: words that do stand around them


def group_uses(elmo: Elmo, word: str, places: Sequence[Place]) -> tuple[Uses, Floats, Labels, list[GroupNames]]:
    """What stands in some places, how alike each two are by sense [n, n], the group of each, what groups are called."""
    uses = read_uses(elmo, places, lexicon_or_none(elmo))
    similarity = uses.similarities(uses, "sense")
    labels = find_groups(similarity)
    return uses, similarity, labels, describe_groups(elmo, word, labels, places, uses)


def describe_groups(elmo: Elmo, word: str, labels: Labels, places: Sequence[Place], uses: Uses) -> list[GroupNames]:
    """For each group, what tells it from the others."""
    lexicon = lexicon_or_none(elmo)
    if lexicon is None or uses.substitutes is None:
        return [GroupNames()] * (int(labels.max()) + 1)
    names = name_groups(word, labels, uses.place, uses.substitutes, lexicon)
    around = words_around(word, labels, places, lexicon, WordWeights(elmo.vocabulary))
    return [GroupNames(*both) for both in zip(names, around, strict=True)]


def places_of(occurrences: Iterable[Occurrence]) -> list[Place]:
    return [Place(one.as_read, one.position, one.position + 1) for one in occurrences]


def _group(
    called: GroupNames, number: int, labels: Labels, similarity: Floats, occurrences: Sequence[Occurrence]
) -> SenseGroup:
    ordered = clearest_first(number, labels, similarity)
    members = tuple(occurrences[one] for one in ordered)
    return SenseGroup(called.names, len(ordered) / len(labels), members, called.around)


def clearest_first(number: int, labels: Labels, similarity: Floats) -> list[int]:
    """The members of a group, those first that are like their own group and unlike the others."""
    members, others = np.flatnonzero(labels == number), np.flatnonzero(labels != number)
    clear = similarity[np.ix_(members, members)].mean(axis=1)
    if len(others):
        clear = clear - similarity[np.ix_(members, others)].mean(axis=1)
    ordered: list[int] = members[np.argsort(-clear, kind="stable")].tolist()
    return ordered


def find_occurrences(word: str, index: Index) -> list[Occurrence]:
    """Those of an index, spelled alike where there are enough of them."""
    return same_spelling(word, index.occurrences(word))


def same_spelling(word: str, occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Those that are spelled like it: layer 0 sees nothing but the spelling. Of a rare spelling, those of any case."""
    alike = [one for one in occurrences if one.word == word]
    return alike if len(alike) >= ENOUGH else list(occurrences)


def spread(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly."""
    if count <= most:
        return list(range(count))
    return [int(number) for number in np.linspace(0, count - 1, most)]
