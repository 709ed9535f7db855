"""What a model makes of ambiguous words: how their vectors part, where they are used like this, what could stand there.

These are the findings behind `polyseme demo`; picture.py and page.py show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats, unit
from polyseme.errors import ConfigError
from polyseme.index.vector_index import Index, Neighbour, Occurrence
from polyseme.jobs.progress import working
from polyseme.lm.lexicon import Substitute
from polyseme.lm.places import find_place
from polyseme.senses.labelled import Closeness, closeness, closeness_of, read_senses, use_spans
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import places_of
from polyseme.senses.shipped import DATA
from polyseme.senses.triplets import Interval, mean_interval, triplet_accuracy
from polyseme.senses.uses import read_uses


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with an ambiguous word in brackets, and what the word means there."""

    marked: str
    sense: str


ExamplePair = tuple[Example, Example]

#: Words that mean two things, and a sentence for each; their senses are those of senses/data/senses.tsv.
WORDS: dict[str, dict[str, ExamplePair]] = {
    "en": {
        "present": (
            Example("Live in [present] not past.", "now"),
            Example("Here is your b-day [present].", "gift"),
        ),
        "bank": (
            Example("They walked along the [bank] of the river.", "river"),
            Example("The [bank] lends money to small companies.", "money"),
        ),
    },
    "ko": {
        "사과": (
            Example("배가 고픈 동생은 [사과]를 두 개나 먹었다.", "apple"),
            Example("그는 약속을 잊은 일로 친구에게 [사과]를 했다.", "apology"),
        ),
        "차": (
            Example("아버지는 주말마다 [차]를 깨끗이 닦으신다.", "car"),
            Example("친구와 찻집에서 [차]를 마시며 이야기했다.", "tea"),
        ),
    },
    "zh": {
        "花": (
            Example("她在院子里种了很多[花]。", "flower"),
            Example("他一共[花]了五百块钱。", "spend"),
        ),
        "苹果": (
            Example("我每天早上吃一个[苹果]。", "fruit"),
            Example("他买了一千股[苹果]公司的股票。", "company"),
        ),
    },
}


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
    map: Floats  #: where each example lies in two dimensions, [n, 2]
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


def examples_of(lang: str, word: str) -> list[Example]:
    """The sentences of the demo and the first two of each sense in senses.tsv, sense by sense."""
    (listed,) = (each for each in read_senses(lang=lang) if each.word == word)
    pair = WORDS[lang][word]
    every = dict.fromkeys([*pair, *map(Example, listed.sentences, listed.senses)])  # one may stand in both
    return [
        example
        for sense in (pair[0].sense, pair[1].sense)
        for example in [one for one in every if one.sense == sense][:3]
    ]


def study(index: Index, lang: str, word: str, *, k: int = 3) -> Study:
    """Ask the model that made the index about a word of the demo; ``k`` neighbours and twice as many other words."""
    elmo = index.elmo
    first, second = WORDS[lang][word]
    examples = examples_of(lang, word)
    lexicon = lexicon_or_none(elmo)
    uses = read_uses(elmo, [find_place(elmo, example.marked) for example in examples], lexicon)
    by_layer = [closeness(layer, [example.sense for example in examples]) for layer in uses.word]
    place = find_place(elmo, first.marked)
    places = index.occurrences(place.tokens[place.begin])  # in the model's units: a Korean noun may have its particle
    in_text = read_uses(elmo, places_of(places), lexicon)
    on_map, background = flatten(uses.word[-1], in_text.word[-1])
    pair = uses[[examples.index(first), examples.index(second)]]
    near = nearest_uses(pair.similarities(in_text, "sense"), places, k)
    return Study(
        word=word,
        answers=(_answer(index, first, near[0], k), _answer(index, second, near[1], k)),
        cosines=elmo.similarity(first.marked, second.marked),
        examples=examples,
        alike=np.array([each.same for each in by_layer], np.float32),
        unlike=np.array([each.cross for each in by_layer], np.float32),
        by_sense=closeness_of(uses.similarities(uses, "sense"), [example.sense for example in examples]),
        map=on_map,
        places=places,
        background=background,
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """How often a use of an ambiguous word is nearer to one in the same sense than to one in another; chance is 0.5."""

    words: int  #: of senses.tsv
    layers: list[Interval]  #: by the word's own vector, layer by layer
    sense: Interval  #: by what stands around it


def prove(elmo: Elmo, lang: str) -> Proof:
    """The share of right triplets over all words of the language in senses.tsv."""
    words = read_senses(lang=lang)
    places = [find_place(elmo, sentence) for word in words for sentence in word.sentences]
    uses = read_uses(elmo, places, lexicon_or_none(elmo))
    shares: list[list[float]] = [[] for _ in range(len(uses.word) + 1)]
    for word, span in zip(words, use_spans(words), strict=True):
        here = uses[span]
        by = [here.similarities(here, "word", layer) for layer in range(len(here.word))]
        for found, similarity in zip(shares, [*by, here.similarities(here, "sense")], strict=True):
            found.append(triplet_accuracy(similarity, word.senses))
    *layers, sense = [mean_interval(found) for found in shares]
    return Proof(len(words), layers, sense)


def flatten(vectors: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Directions on the plane in which those of ``vectors`` differ most (principal components): [n, 2] and [m, 2].

    The first vector lies left of the middle and above it, so that a picture does not flip from run to run.
    """
    units = unit(vectors)
    middle = units.mean(axis=0)
    _, _, axes = np.linalg.svd(units - middle, full_matrices=False)
    plane = axes[:2].T  # [W, 2]
    plane *= np.where((units[0] - middle) @ plane * (-1, 1) < 0, -1, 1)
    return (units - middle) @ plane, (unit(others) - middle) @ plane


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
    for one in index.neighbours(marked, k=100):
        words.setdefault(one.word.casefold(), one.word)
    words.pop(place.tokens[place.begin].casefold(), None)
    return [word for word in words.values() if word[0].isalpha() and (known is None or word in known)][:count]


def _substitutes(elmo: Elmo, marked: str, count: int) -> list[Substitute]:
    try:
        return elmo.substitutes(marked, count)
    except ConfigError:  # a model for vectors only
        return []
