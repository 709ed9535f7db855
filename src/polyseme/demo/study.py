"""What a model makes of ambiguous words: how their vectors part, where they are used like this, what could stand there.

These are the findings behind `polyseme demo`; picture.py and page.py show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from polyseme.demo.chosen_words import Example, examples_of, pair_of
from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.errors import ConfigError
from polyseme.index.vector_index import Index, Neighbour, Occurrence
from polyseme.jobs.progress import working
from polyseme.lm.lexicon import Substitute
from polyseme.lm.places import find_place
from polyseme.senses.labelled import (
    Closeness,
    Interval,
    closeness,
    closeness_of,
    mean_interval,
    nearest_accuracy,
    read_senses,
    triplet_accuracy,
    use_spans,
)
from polyseme.senses.projection import fit_similarity_plane
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import places_of
from polyseme.senses.shipped import DATA
from polyseme.senses.uses import read_uses


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of one example."""

    example: Example
    neighbours: list[
        Neighbour
    ]  #: places in the text where the same word is used most like this, and not like the other
    others: list[str]  #: other words of the text that are used like this
    substitutes: list[Substitute]  #: words that could stand in its place; none where the model has no softmax


@dataclass(frozen=True, slots=True)
class Study:
    """What a model makes of one ambiguous word."""

    word: str
    answers: tuple[Answer, Answer]
    cosines: Floats  #: of the two examples' vectors, [L+1]
    examples: list[Example]  #: these two and some of senses.tsv, sense by sense
    alike: Floats  #: mean cosine of two examples that mean the same, [L+1]
    unlike: Floats  #: mean cosine of two that do not, [L+1]
    by_sense: Closeness  #: the same by what stands around the word, see `polyseme.senses.uses`
    pair_by_sense: float  #: how alike the two examples are by it
    map: Floats  #: where each example lies by sense, in two dimensions, [n, 2]
    places: list[Occurrence]  #: of the word in the text
    background: Floats  #: where each of them lies, [m, 2]

    @property
    def senses(self) -> tuple[str, str]:
        first, second = self.answers
        return first.example.sense, second.example.sense


def text_lines(lang: str) -> list[str]:
    """The sentences that come with the package."""
    return (DATA / f"text-{lang}.txt").read_text(encoding="utf-8").splitlines()


def index_text(elmo: Elmo, lines: Sequence[str], source: str) -> Index:
    """Every word of the sentences, in every layer."""
    with working(f"reading {source}", len(lines)) as work:

        def counted() -> Iterator[str]:
            for line in lines:
                yield line
                work.advance(1)

        return Index.in_memory(elmo, counted(), source=source)


def study(index: Index, lang: str, word: str, *, k: int = 3) -> Study:
    """Ask the model that made the index about a word of the demo; ``k`` neighbours and twice as many other words."""
    elmo = index.elmo
    first, second = pair_of(lang, word)
    examples = examples_of(lang, word)
    lexicon = lexicon_or_none(elmo)
    uses = read_uses(elmo, [find_place(elmo, example.marked) for example in examples], lexicon)
    by_layer = [closeness(layer, [example.sense for example in examples]) for layer in uses.word]
    place = find_place(elmo, first.marked)
    places = index.occurrences(place.tokens[place.begin])  # in the model's units: a Korean noun may have its particle
    in_text = read_uses(elmo, places_of(places), lexicon)
    similarity = uses.similarities(uses, "sense")
    on_map, background = flatten(similarity, in_text.similarities(uses, "sense"))
    pair = uses[[examples.index(first), examples.index(second)]]
    near = nearest_uses(pair.similarities(in_text, "sense"), places, k)
    return Study(
        word=word,
        answers=(_answer(index, first, near[0], k), _answer(index, second, near[1], k)),
        cosines=elmo.similarity(first.marked, second.marked),
        examples=examples,
        alike=np.array([each.same for each in by_layer], np.float32),
        unlike=np.array([each.cross for each in by_layer], np.float32),
        by_sense=closeness_of(similarity, [example.sense for example in examples]),
        pair_by_sense=float(pair.similarities(pair, "sense")[0, 1]),
        map=on_map,
        places=places,
        background=background,
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """How often a use of an ambiguous word is nearer to one in the same sense than to one in another; chance is 0.5."""

    layers: list[Interval]  #: by the word's own vector, layer by layer
    sense: Interval  #: by what stands around it
    by_word: Mapping[str, Closeness]  #: the same for each word of senses.tsv, by sense
    nearest: Mapping[str, float]  #: of each word, the share of uses whose nearest one by sense has the same sense

    @property
    def margins(self) -> dict[str, float]:
        """How much more alike two uses in one sense are than two uses in two."""
        return {word: one.same - one.cross for word, one in self.by_word.items()}


def prove(elmo: Elmo, lang: str) -> Proof:
    """The share of right triplets over all words of the language in senses.tsv."""
    words = read_senses(lang=lang)
    places = [find_place(elmo, sentence) for word in words for sentence in word.sentences]
    uses = read_uses(elmo, places, lexicon_or_none(elmo))
    shares: list[list[float]] = [[] for _ in uses.word]
    by_word, nearest = {}, {}
    for word, span in zip(words, use_spans(words), strict=True):
        here = uses[span]
        for layer, found in enumerate(shares):
            found.append(triplet_accuracy(here.similarities(here, "word", layer), word.senses))
        by_sense = here.similarities(here, "sense")
        by_word[word.word] = closeness_of(by_sense, word.senses)
        nearest[word.word] = nearest_accuracy(by_sense, word.senses)
    sense = mean_interval([one.share for one in by_word.values()])
    return Proof([mean_interval(found) for found in shares], sense, by_word, nearest)


def flatten(similarity: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Points for n uses, and for m others, from how alike they are to the n: [n, n] and [m, n] → [n, 2] and [m, 2].

    The first use lies left of the middle and above it, so that a picture does not flip from run to run.
    """
    corner = np.zeros((len(similarity), 2), np.float32)
    corner[0] = -1, 1
    plane = fit_similarity_plane(similarity, corner)
    return plane.place(similarity), plane.place(others)


def nearest_uses(similarities: Floats, places: Sequence[Occurrence], k: int) -> list[list[Neighbour]]:
    """For each of some examples up to ``k`` places, the most alike first; each place under the most alike example.

    ``similarities``: of every example with every place. [examples, places]
    """
    nearest = similarities.argmax(axis=0) if len(similarities) else np.empty(0, np.int64)
    found = []
    for number, row in enumerate(similarities):
        best = [place for place in np.argsort(-row, kind="stable").tolist() if nearest[place] == number][:k]
        found.append([Neighbour(**asdict(places[place]), similarity=float(row[place])) for place in best])
    return found


def _answer(index: Index, example: Example, neighbours: list[Neighbour], k: int) -> Answer:
    return Answer(
        example=example,
        neighbours=neighbours,
        others=_other_words(index, example.marked, 2 * k),
        substitutes=_substitutes(index.elmo, example.marked, 2 * k),
    )


def _other_words(index: Index, marked: str, count: int) -> list[str]:
    """The nearest words but the marked one, each once; only words of the model's softmax, where it has one."""
    place, known = find_place(index.elmo, marked), index.elmo.stored.vocabulary
    words: dict[str, str] = {}
    for one in index.neighbours(marked, k=100, same_word=False):
        words.setdefault(one.word.casefold(), one.word)
    words.pop(place.tokens[place.begin].casefold(), None)
    return [word for word in words.values() if word[0].isalpha() and (known is None or word in known)][:count]


def _substitutes(elmo: Elmo, marked: str, count: int) -> list[Substitute]:
    """The likeliest words, without punctuation."""
    try:
        found = elmo.substitutes(marked, 2 * count)
    except ConfigError:  # a model for vectors only
        return []
    return [one for one in found if any(map(str.isalnum, one.word))][:count]
