"""Documents → sentences on their way to the engine, each with its place, so that a job can go on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from polyseme.errors import ConfigError
from polyseme.text.readers import Document
from polyseme.text.tokenization import Sentence

Position = tuple[int, int]  # (document, sentence): the next to be done
Split = Callable[[str], list[Sentence]]


@dataclass(frozen=True, slots=True)
class Shard:
    """The share of one machine: every ``count``-th document, beginning with number ``index`` (from 0)."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """ "2/8" → the second of eight."""
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ConfigError(f"{text!r} is not a share; expected i/n with i from 1 to n, as in 2/8")
        return cls(int(index) - 1, int(count))

    @property
    def name(self) -> str:
        return f"{self.index + 1}-of-{self.count}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a document."""

    document: Document
    number: int  # of the document among all inputs
    whole: str  # the document's text; for tokenised input its tokens with spaces between
    sentence: int
    tokens: list[str]
    offsets: list[tuple[int, int]]  # into the whole text
    is_last: bool  # of its document

    @property
    def next(self) -> Position:
        """Where a job goes on after this sentence."""
        return (self.number + 1, 0) if self.is_last else (self.number, self.sentence + 1)


def read_passages(
    documents: Iterable[Document], split: Split, *, shard: Shard, start: Position = (0, 0)
) -> Iterator[Passage]:
    """The sentences of the share, from ``start`` on; what comes before is read but not tokenised."""
    for number, document in enumerate(documents):
        if number % shard.count == shard.index and number >= start[0]:
            first = start[1] if number == start[0] else 0
            yield from _split_document(number, document, split)[first:]


def _split_document(number: int, document: Document, split: Split) -> list[Passage]:
    """All sentences; an empty document has one empty sentence, so that every document leaves a trace."""
    if document.text is None:
        whole, sentences = _lay_out(document.sentences or [])
    else:
        whole, sentences = document.text, split(document.text)
    sentences = sentences or [Sentence([], [])]
    last = len(sentences) - 1
    return [
        Passage(document, number, whole, index, sentence.tokens, sentence.offsets, index == last)
        for index, sentence in enumerate(sentences)
    ]


def _lay_out(sentences: list[list[str]]) -> tuple[str, list[Sentence]]:
    """A text for sentences that came as tokens: a space between tokens, a line for each sentence."""
    lines, laid_out, start = [], [], 0
    for tokens in sentences:
        offsets = []
        for token in tokens:
            offsets.append((start, start + len(token)))
            start += len(token) + 1
        start += not tokens
        lines.append(" ".join(tokens))
        laid_out.append(Sentence(tokens, offsets))
    return "\n".join(lines), laid_out
