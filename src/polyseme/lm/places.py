"""A place in a sentence, marked with brackets: "Live in the [present]." """

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.errors import InputError, quoted
from polyseme.prepared_text import read_target
from polyseme.text.tokenization import Sentence


@dataclass(frozen=True, slots=True)
class Place:
    """The tokens [begin, end) of a sentence, nearly always one word."""

    tokens: Sequence[str]
    begin: int
    end: int

    @property
    def word(self) -> str | None:
        """The token in this place, if it is a single one."""
        return self.tokens[self.begin] if self.end - self.begin == 1 else None

    def vectors(self, layers: Floats) -> Floats:
        """The layers of the sentence [L+1, N, W] → the mean of the tokens in each layer [L+1, W]."""
        mean: Floats = layers[:, self.begin : self.end].mean(axis=1)
        return mean


def find_place(elmo: Elmo, text: str) -> Place:
    """The marked place in its sentence; the rest of the text is ignored."""
    plain, span = read_target(text)
    if span is None:
        raise InputError(f'no word is marked in {quoted(text)}; put one in brackets: "Live in the [present]."')
    found = [place for sentence in elmo.split(plain) if (place := _overlap(sentence, span)) is not None]
    if not found:
        raise InputError(f"there is no word between the brackets of {quoted(text)}; write any word, such as [thing]")
    if len(found) > 1:
        raise InputError(f"the brackets of {quoted(text)} span {len(found)} sentences; mark one word")
    return found[0]


def _overlap(sentence: Sentence, span: tuple[int, int]) -> Place | None:
    inside = [n for n, (begin, end) in enumerate(sentence.offsets) if begin < span[1] and end > span[0]]
    return Place(sentence.tokens, inside[0], inside[-1] + 1) if inside else None
