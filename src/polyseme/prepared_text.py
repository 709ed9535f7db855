"""A text on its way into a model: checked, split into sentences of tokens, and later joined with the model's layers.

Texts may come as a list, a tuple, a numpy array, or a pandas or polars column. A target word is marked with brackets:
"Live in the [present]." Text in a script that the model has hardly seen gives a warning: the vectors of Chinese read
by an English model mean nothing.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise
from typing import Any, Protocol
from unicodedata import name

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.encoding import Encoding, Floats, joined_offsets, place_words, pool_units
from polyseme.errors import InputError, quoted
from polyseme.formats.model import StoredModel
from polyseme.sentence_reader import card_language
from polyseme.text.characters import composed
from polyseme.text.readers import Document
from polyseme.text.tokenization import Language, PartedWords, Sentence, Units, language_name, part_words, split_text

WORDS = 5000  # how many words of the vocabulary are examined, the most frequent ones first
LETTERS = 40  # how many letters of a text are examined
FEWEST = 5  # a text with fewer letters gets no warning
HARDLY = 0.001  # a script with a smaller share of the vocabulary's letters is hardly seen
_MARKED = re.compile(r"\[([^\[\]]+)\]")


@lru_cache(maxsize=65536)
def script_of(character: str) -> str | None:
    """ "LATIN", "HANGUL", "HAN" …; None for anything but a letter."""
    first = name(character, "").split(" ", 1)[0].split("-")[0] if character.isalpha() else ""
    return "HAN" if first in ("CJK", "IDEOGRAPHIC") else first or None


class Familiar:
    """The scripts of a model's vocabulary, and the share of each."""

    def __init__(self, words: Iterable[str]) -> None:
        counts = Counter(script for word in islice(words, WORDS) for script in map(script_of, word) if script)
        total = sum(counts.values())
        self.scripts = {script for script, count in counts.items() if count >= HARDLY * total}

    def stranger(self, text: str) -> str | None:
        """The script of most letters at the beginning of a text, if the model has hardly seen it."""
        if not self.scripts:
            return None
        found = islice((script for script in map(script_of, composed(text[: 20 * LETTERS])) if script), LETTERS)
        counts = Counter(found)
        if counts.total() < FEWEST:
            return None
        script, count = counts.most_common(1)[0]
        return script.title() if script not in self.scripts and 2 * count > counts.total() else None


class TextColumn(Protocol):
    """A column of a table, such as a pandas or polars Series."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def to_list(self) -> list[Any]: ...


#: A text, or a sentence already split into tokens.
Item = str | Sequence[str]
Texts = list[str] | tuple[str, ...] | npt.NDArray[Any] | TextColumn


def checked_list(items: object, what: str) -> list[Any]:
    """The items as a list; InputError if they are not a list of ``what``."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InputError(f"a list of {what} was expected, but {quoted(items)} is of type {type(items).__name__}")
    if hasattr(items, "columns"):  # a table, which would give the names of its columns
        raise InputError(f"a list of {what} was expected, but a {type(items).__name__} was given; give one column")
    return list(items)


def checked_text(text: object) -> str:
    """The text as a plain string, also if it is numpy's; InputError for anything else."""
    if isinstance(text, str):
        return str(text)
    if text is None or (isinstance(text, float | np.floating) and np.isnan(text)) or type(text).__name__ == "NAType":
        raise InputError(f'a text is missing ({text}); drop it, or fill it with ""')
    raise InputError(f"a text should be a string, but {quoted(text)} is of type {type(text).__name__}")


def checked_sentence(sentence: object) -> list[str]:
    """The sentence as a list of tokens; InputError unless it is a sequence of strings."""
    if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
        raise InputError(
            f"a sentence should be a list of tokens, but {quoted(sentence)} is of type {type(sentence).__name__}; "
            "use encode for text that is not split"
        )
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"a token should be a string, but {quoted(token)} is of type {type(token).__name__}")
    if tokens and not tokens[-1]:
        raise InputError(
            f"the sentence {quoted(tokens)} ends with an empty token, as padding for TensorFlow Hub does, and a model "
            "would read it as a word; leave such tokens out"
        )
    return Units(tokens) if isinstance(sentence, Units) else tokens


def read_target(text: str) -> tuple[str, tuple[int, int] | None]:
    """The text without the brackets, and the span of the marked words in it, or None if nothing is marked.

    >>> read_target("Live in the [present].")
    ('Live in the present.', (12, 19))
    """
    if not isinstance(text, str):
        raise InputError(f"a text should be a string, but {text!r} is of type {type(text).__name__}")
    marks = list(_MARKED.finditer(text))
    if not marks:
        return text, None
    if len(marks) > 1:
        words = ", ".join(mark.group() for mark in marks)
        raise InputError(f"expected one word in brackets, but {len(marks)} are marked: {words}")
    (mark,) = marks
    plain = text[: mark.start()] + mark.group(1) + text[mark.end() :]
    return plain, (mark.start(), mark.end() - 2)


def split_at_target(text: str) -> tuple[str, str, str]:
    """The text before the marked words, the words, and the text after them; without a mark, all of it is before.

    >>> split_at_target("Live in the [present].")
    ('Live in the ', 'present', '.')
    """
    plain, span = read_target(text)
    begin, end = span or (len(plain), len(plain))
    return plain[:begin], plain[begin:end], plain[end:]


def as_documents(texts: str | Iterable[Item], source: str = "memory") -> Iterator[Document]:
    """Texts, or sentences that are split into tokens already, as files hold them."""
    for number, item in enumerate([texts] if isinstance(texts, str) else texts):
        if isinstance(item, str):
            yield Document(str(number), item, None, source)
        else:
            yield Document(str(number), None, [list(item)], source)


class UnfamiliarScript(UserWarning):
    """A model reads text in a script that it has hardly seen."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """One input, split into tokens; these may be words that the model reads as several smaller units."""

    text: str
    sentences: list[Sequence[str]]
    offsets: npt.NDArray[np.int64]  # [N, 2]
    parted: list[PartedWords] | None = None  # of each sentence, if its tokens are words and the model reads units

    @property
    def units(self) -> list[Sequence[str]]:
        """What the model reads of each sentence."""
        return self.sentences if self.parted is None else [one.units for one in self.parted]

    @property
    def unit_offsets(self) -> npt.NDArray[np.int64]:
        """The offsets of each unit in the text. [U, 2]"""
        return self.offsets if self.parted is None else offset_array(one.offsets for one in self.parted)

    @property
    def positions(self) -> int:
        """How many positions the model reads, boundaries included."""
        return sum(len(units) + 2 for units in self.units)

    def encoding(self, layers: list[Floats], config: BiLMConfig, mix: tuple[float, ...]) -> Encoding:
        """``layers``: of each sentence [L+1, N+2, W], boundaries included."""
        size = config.projection
        inside = [one[:, 1:-1] for one in layers]
        edges = [np.concatenate([one[-1, 0, :size], one[-1, -1, size:]]) for one in layers]
        placed = None
        if self.parted is not None:
            counts = [parted.counts for parted in self.parted]
            around = [place_words(one, held, size) for one, held in zip(layers, counts, strict=True)]
            inside = [pool_units(one, held) for one, held in zip(inside, counts, strict=True)]
            placed = np.concatenate(around)
        nothing = np.zeros((config.layers + 1, 0, config.width), np.float32) if len(inside) != 1 else inside[0]
        return Encoding(
            text=self.text,
            tokens=list(chain.from_iterable(self.sentences)),
            layers=inside[0] if len(inside) == 1 else np.concatenate([nothing, *inside], axis=1),
            offsets=self.offsets,
            sentences=bounds_of(self.sentences),
            mix=mix,
            edges=np.stack(edges) if edges else nothing[0],
            directions=config.directions,
            placed=placed,
        )


class Preparation:
    """How a model reads text: split by the rules of ``lang``, and into its own units if it reads parts of words."""

    def __init__(self, stored: StoredModel, lang: Language) -> None:
        self.language, self.lang = lang, language_name(lang)
        self._own_language = card_language(stored)
        self._reads_units = bool(stored.card.get("unit"))
        self._words = stored.vocabulary.words if stored.vocabulary is not None else ()
        self._name = stored.card.get("name") or "the model"
        self._warned = False  # about a script that the model has hardly seen

    def prepare(self, item: Item) -> PreparedText:
        """A text, or a sentence already split into tokens, as the model reads it."""
        if isinstance(item, str) or not isinstance(item, Iterable):
            text = checked_text(item)
            self.warn_of_script(text)
            split = self.split(text)
            sentences: list[Sequence[str]] = [sentence.tokens for sentence in split]
            return self._as_units(text, sentences, offset_array(sentence.offsets for sentence in split))
        tokens = checked_sentence(item)
        self.warn_of_script(" ".join(tokens[:LETTERS]))
        return self._as_units(" ".join(tokens), [tokens], joined_offsets(tokens))

    def part_all(self, sentences: Sequence[Sequence[str]]) -> list[PartedWords | None]:
        """`part` for each sentence, with the warning that `prepare` would give."""
        for tokens in sentences:
            self.warn_of_script(" ".join(tokens[:LETTERS]))
        return [self.part(tokens) for tokens in sentences]

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text, each with its tokens and their offsets."""
        sentences = split_text(checked_text(text), self.language)
        if not self._reads_units or self.lang != self._own_language:
            return sentences
        return [Sentence(Units(sentence.tokens), sentence.offsets) for sentence in sentences]

    def part(self, tokens: Sequence[str]) -> PartedWords | None:
        """The units inside tokens that this model did not split, if it reads units smaller than words."""
        if not self._reads_units or isinstance(tokens, Units):
            return None
        return part_words(tokens, self._own_language)

    def _as_units(self, text: str, sentences: list[Sequence[str]], offsets: npt.NDArray[np.int64]) -> PreparedText:
        found = [parted for sentence in sentences if (parted := self.part(sentence)) is not None]
        return PreparedText(text, sentences, offsets, found or None)

    @cached_property
    def _familiar(self) -> Familiar:
        return Familiar(self._words)

    def warn_of_script(self, text: str) -> None:
        """Warn once if a text is in a script that the model has hardly seen."""
        if self._warned or not (script := self._familiar.stranger(text)):
            return
        self._warned = True
        warnings.warn(
            f"{self._name} has hardly seen the script of this text ({script}), so its vectors mean little; use a "
            "model of that language",
            UnfamiliarScript,
            stacklevel=2,
        )


def offset_array(sentences: Iterable[Sequence[tuple[int, int]]]) -> npt.NDArray[np.int64]:
    """The offsets of all sentences, one after another. [N, 2]"""
    return np.array(list(chain.from_iterable(sentences)), dtype=np.int64).reshape(-1, 2)


def bounds_of(sentences: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The first token of each sentence and its end, counted over the whole text."""
    return list(pairwise(accumulate(map(len, sentences), initial=0)))
