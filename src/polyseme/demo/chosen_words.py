"""Which words the demo shows: by a rule that was written down before anybody looked at what they give.

    English     present and bank, whatever they give, and the best word
    others      the three best words

The best words are those of the reporting half of senses.tsv with the largest margin: how much more alike two uses in
one sense are than two uses in two senses, by sense, over the eight labelled sentences of the word, for the model that
the demo runs with. A word is shown with the first sentence of each of its senses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyseme.senses.labelled import read_senses, split_halves

SHOWN = 3
ALWAYS: dict[str, tuple[str, ...]] = {"en": ("present", "bank")}
#: Sentences of each sense that are drawn.
OF_A_SENSE = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with an ambiguous word in brackets, and what the word means there."""

    marked: str
    sense: str


def choose_demo_words(lang: str, margins: Mapping[str, float]) -> list[str]:
    """By the margin of each labelled word."""
    fixed = ALWAYS.get(lang, ())
    _, reporting = split_halves(read_senses(lang=lang))
    best = sorted((word.word for word in reporting if word.word not in fixed), key=lambda word: -margins[word])
    return [*fixed, *best[: SHOWN - len(fixed)]]


def examples_of(lang: str, word: str) -> list[Example]:
    """The first sentences of each of the word's two senses, sense by sense."""
    (listed,) = (each for each in read_senses(lang=lang) if each.word == word)
    every = list(map(Example, listed.sentences, listed.senses))
    return [
        example
        for sense in dict.fromkeys(listed.senses)
        for example in [one for one in every if one.sense == sense][:OF_A_SENSE]
    ]


def pair_of(lang: str, word: str) -> tuple[Example, Example]:
    """The first sentence of each sense."""
    examples = examples_of(lang, word)
    return examples[0], examples[OF_A_SENSE]
