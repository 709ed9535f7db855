"""What a comparison of two texts will take, measured on the beginning of the first one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyseme.elmo import Elmo
from polyseme.embed.description import Options, survey
from polyseme.errors import InputError
from polyseme.lm.places import Place
from polyseme.senses.collect import LONGEST
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.shift_samples import index_of
from polyseme.senses.uses import read_uses
from polyseme.text.readers import read_documents

SAMPLE_CHARACTERS = 300_000
SAMPLE_USES = 64


@dataclass(frozen=True, slots=True)
class ShiftEstimate:
    """Of the whole work; memory does not grow with the texts."""

    characters: int  #: to be read, of both texts
    words: int  #: at most
    uses: int  #: at most, of all words in both texts
    seconds: float  #: at most: words may be rarer, and texts without a word are passed over

    def __str__(self) -> str:
        took = f"{self.seconds:.0f} seconds" if self.seconds < 120 else f"{self.seconds / 60:.0f} minutes"
        return (
            f"{self.characters:,} characters to read, up to {self.words:,} words with {self.uses:,} uses: "
            f"at most about {took}"
        )


def estimate_shift(
    elmo: Elmo,
    before: str | Path,
    after: str | Path,
    words: Sequence[str] = (),
    *,
    most_words: int,
    most_uses: int,
    kind: str | None = None,
    field: str | None = None,
) -> ShiftEstimate:
    """Read both texts, split and encode a sample, and reckon up."""
    texts = [str(source) for source in (before, after) if index_of(source, elmo) is None]
    characters = survey(texts, Options(kind=kind, field=field))[1] if texts else 0
    began = time.perf_counter()
    sentences, read = _sample(elmo, texts[0], kind, field) if texts else ([["a", "word"]] * SAMPLE_USES, 0)
    splitting = (time.perf_counter() - began) / max(1, read)
    places = [Place(tokens, len(tokens) // 2, len(tokens) // 2 + 1) for tokens in sentences[:SAMPLE_USES]]
    if not places:
        raise InputError(f"there is no text to compare in {texts[0]}")
    began = time.perf_counter()
    read_uses(elmo, places, lexicon_or_none(elmo))
    reading = (time.perf_counter() - began) / len(places)
    count = len(words) or most_words
    uses = 2 * count * most_uses
    passes = 1 if words else 2
    return ShiftEstimate(characters, count, uses, passes * characters * splitting + uses * reading)


def _sample(elmo: Elmo, source: str, kind: str | None, field: str | None) -> tuple[list[list[str]], int]:
    """Sentences of the beginning of a text, and how many characters they are from."""
    read, found = 0, list[list[str]]()
    for document in read_documents([source], kind=kind, field=field):
        tokens = document.sentences if document.text is None else _split(elmo, document.text)
        found += [list(sentence) for sentence in tokens or () if 0 < len(sentence) <= LONGEST]
        read += len(document.text or "")
        if read > SAMPLE_CHARACTERS:
            break
    return found, read


def _split(elmo: Elmo, text: str) -> Iterator[Sequence[str]]:
    return (sentence.tokens for sentence in elmo.split(text))
