"""The answers of an index: words at places in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyseme.text.tokenization import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A word at one place of the text."""

    row: int  #: the number of the token in the index
    text: str  #: text of the sentence
    tokens: list[str]  #: tokens of the sentence
    position: int  #: of the word among the tokens
    span: tuple[int, int]  #: of the word in the text
    source: str  #: the file, as it was given
    document: str  #: its id within the file: the number of the line or record, or a sent_id
    sentence: int  #: number of the sentence within its document

    @property
    def word(self) -> str:
        return self.tokens[self.position]

    @property
    def as_read(self) -> Sequence[str]:
        """The tokens in a form that a model can read again: those of running text are already its own units."""
        return self.tokens if self.text == " ".join(self.tokens) else Units(self.tokens)

    @property
    def marked(self) -> str:
        """The sentence with the word in brackets.

        `Index.neighbours` accepts it, unless the sentence itself contains brackets; ``span`` is never ambiguous.
        """
        begin, end = self.span
        return f"{self.text[:begin]}[{self.text[begin:end]}]{self.text[end:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour(Occurrence):
    """An occurrence, and the cosine between its vector and that of the query."""

    similarity: float
