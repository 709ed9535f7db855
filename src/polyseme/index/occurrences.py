"""What an index answers with: a word at one place of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyseme.text.tokenization import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A word at one place of the text."""

    row: int  #: the number of the token in the index
    text: str  #: of the sentence
    tokens: list[str]  #: of the sentence
    position: int  #: of the word among the tokens
    span: tuple[int, int]  #: of the word in the text
    source: str  #: the file, as it was given
    document: str  #: within its file: the number of the line or record, a sent_id
    sentence: int  #: within its document

    @property
    def word(self) -> str:
        return self.tokens[self.position]

    @property
    def as_read(self) -> Sequence[str]:
        """The tokens as a model takes them again: those of a running text are its own units already."""
        return self.tokens if self.text == " ".join(self.tokens) else Units(self.tokens)

    @property
    def marked(self) -> str:
        """The sentence with the word in brackets.

        `Index.neighbours` takes it as it is, unless the sentence has brackets of its own; ``span`` has no such doubt.
        """
        begin, end = self.span
        return f"{self.text[:begin]}[{self.text[begin:end]}]{self.text[end:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour(Occurrence):
    """An occurrence, and the cosine of its vector to the one that was asked for."""

    similarity: float
