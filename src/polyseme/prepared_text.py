"""A text on its way into a model: split into sentences of tokens, and waiting for what the model says of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig
from polyseme.card_choices import card_language
from polyseme.encoding import Encoding, Floats, joined_offsets, place_words, pool_units
from polyseme.formats.model import StoredModel
from polyseme.text.own_tokenizer import Language, language_name
from polyseme.text.tokenization import Sentence, split_text
from polyseme.text.unfamiliar import LETTERS, Familiar
from polyseme.text.units import PartedWords, Units, part_words
from polyseme.text_input import Item, checked_sentence, checked_text


class UnfamiliarScript(UserWarning):
    """A model reads text in a script that it has hardly seen."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """One input, split. Its tokens may be words that the model reads in smaller units."""

    text: str
    sentences: list[Sequence[str]]
    offsets: npt.NDArray[np.int64]  # [N, 2]
    parted: list[PartedWords] | None = None  # of each sentence, where its tokens are words and the model reads units

    @property
    def units(self) -> list[Sequence[str]]:
        """What the model reads of each sentence."""
        return self.sentences if self.parted is None else [one.units for one in self.parted]

    @property
    def unit_offsets(self) -> npt.NDArray[np.int64]:
        """Where each unit stands in the text. [U, 2]"""
        return self.offsets if self.parted is None else offset_array(one.offsets for one in self.parted)

    @property
    def positions(self) -> int:
        """What the model reads, boundaries included."""
        return sum(len(units) + 2 for units in self.units)

    def encoding(self, layers: list[Floats], config: BiLMConfig, mix: tuple[float, ...]) -> Encoding:
        """``layers``: of each sentence [L+1, N+2, W], boundaries included."""
        nothing, size = np.zeros((config.layers + 1, 0, config.width), np.float32), config.projection
        inside = [one[:, 1:-1] for one in layers]
        edges = [np.concatenate([one[-1, 0, :size], one[-1, -1, size:]]) for one in layers]
        placed = None
        if self.parted is not None:
            counts = [parted.counts for parted in self.parted]
            around = [place_words(one, held, size) for one, held in zip(layers, counts, strict=True)]
            inside = [pool_units(one, held) for one, held in zip(inside, counts, strict=True)]
            placed = np.concatenate(around)
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
    """How a model reads text: split by the rules of ``lang``, into its own units where these are smaller than words."""

    def __init__(self, stored: StoredModel, lang: Language) -> None:
        self.language, self.lang = lang, language_name(lang)
        self._own_language = card_language(stored)
        self._reads_units = bool(stored.card.get("unit"))
        self._words = stored.vocabulary.words if stored.vocabulary is not None else ()
        self._name = stored.card.get("name") or "the model"
        self._warned = False  # of a script that the model has hardly seen

    def prepare(self, item: Item) -> PreparedText:
        """A text, or a sentence that is split into tokens already, as the model reads it."""
        if isinstance(item, str) or not isinstance(item, Iterable):
            text = checked_text(item)
            self._warn_of_script(text)
            split = self.split(text)
            sentences: list[Sequence[str]] = [sentence.tokens for sentence in split]
            return self._as_units(text, sentences, offset_array(sentence.offsets for sentence in split))
        tokens = checked_sentence(item)
        self._warn_of_script(" ".join(tokens[:LETTERS]))
        return self._as_units(" ".join(tokens), [tokens], joined_offsets(tokens))

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text, each with its tokens and their offsets."""
        sentences = split_text(checked_text(text), self.language)
        if not self._reads_units or self.lang != self._own_language:
            return sentences
        return [Sentence(Units(sentence.tokens), sentence.offsets) for sentence in sentences]

    def part(self, tokens: Sequence[str]) -> PartedWords | None:
        """The units inside tokens that were not split by this model, if it reads units that are smaller than words."""
        if not self._reads_units or isinstance(tokens, Units):
            return None
        return part_words(tokens, self._own_language)

    def _as_units(self, text: str, sentences: list[Sequence[str]], offsets: npt.NDArray[np.int64]) -> PreparedText:
        found = [parted for sentence in sentences if (parted := self.part(sentence)) is not None]
        return PreparedText(text, sentences, offsets, found or None)

    @cached_property
    def _familiar(self) -> Familiar:
        return Familiar(self._words)

    def _warn_of_script(self, text: str) -> None:
        """Say once that a text is in a script that the model has hardly seen."""
        if self._warned or not (script := self._familiar.stranger(text)):
            return
        self._warned = True
        warnings.warn(
            f"{self._name} has hardly seen the script of this text ({script}), so its vectors mean little; take a "
            "model of that language",
            UnfamiliarScript,
            stacklevel=2,
        )


def offset_array(sentences: Iterable[Sequence[tuple[int, int]]]) -> npt.NDArray[np.int64]:
    """The offsets of all sentences, one after another. [N, 2]"""
    return np.array(list(chain.from_iterable(sentences)), dtype=np.int64).reshape(-1, 2)


def bounds_of(sentences: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The first token of each sentence and its end, counted over the whole text."""
    ends = np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=False))
