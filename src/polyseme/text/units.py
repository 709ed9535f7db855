"""Words that come from outside, parted into the units that a model reads: an eojeol of a treebank into morphemes.

part_words(["배를", "탔다", "."], "ko")    # units 배 를 탔 다 .   belonging to words 0 0 1 1 2
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from polyseme.text.own_tokenizer import Language
from polyseme.text.tokenization import UNITS, Span, split_text


class Units(list[str]):
    """The tokens of a sentence that a model's own tokeniser has made: nothing inside them is parted again."""


@dataclass(frozen=True, slots=True)
class PartedWords:
    """The units of a sentence, where each stands in the words with a space between, and how many each word has."""

    units: Units
    offsets: list[Span]
    counts: list[int]  # of each word, 1 at least


def units_of(words: Sequence[str], lang: Language) -> list[str]:
    """What stands for these words in a text of ``lang``: its units, or the words themselves."""
    return part_words(words, lang).units if isinstance(lang, str) and lang in UNITS else list(words)


def part_words(words: Sequence[str], lang: str) -> PartedWords:
    """Units of ``lang`` inside every word; a word in which the tokeniser finds nothing is a unit itself."""
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    inside: list[list[Span]] = [[] for _ in words]
    for sentence in split_text(text := " ".join(words), lang):
        for span in sentence.offsets:
            inside[bisect_right(starts, span[0]) - 1].append(span)
    whole = ((start, start + len(word)) for start, word in zip(starts, words, strict=False))
    spans = [found or [span] for found, span in zip(inside, whole, strict=True)]
    offsets = [span for found in spans for span in found]
    return PartedWords(Units(text[a:b] for a, b in offsets), offsets, [len(found) for found in spans])
