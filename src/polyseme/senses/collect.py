"""The occurrences of words in texts of any size: of a frequent word a sample, each occurrence with the same chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from pathlib import Path

import numpy as np

from polyseme.elmo import Elmo
from polyseme.embed.description import Passage, Shard, read_passages
from polyseme.index.occurrences import Occurrence
from polyseme.jobs.progress import working
from polyseme.text.readers import Document, expand_inputs, kind_of, read_documents

#: Sentences beyond this many tokens are left out: what stands far away says little, and they are mostly lists.
LONGEST = 200
#: Lines of a plain text that count as one document, unless an empty line ends it before.
BLOCK_LINES = 100


@dataclass(slots=True)
class WordSample:
    """Up to ``most`` occurrences of a word, and how many there were (reservoir sampling; Vitter's algorithm R)."""

    most: int
    total: int = 0
    kept: list[Occurrence] = made(default_factory=list)
    blocks: list[int] = made(default_factory=list)  #: the document of each that was kept, see `Blocks`

    def offer(self, one: Occurrence, random: np.random.Generator, block: int = 0) -> None:
        self.total += 1
        if len(self.kept) < self.most:
            self.kept.append(one)
            self.blocks.append(block)
        elif (slot := int(random.integers(self.total))) < self.most:
            self.kept[slot], self.blocks[slot] = one, block

    def sort(self) -> None:
        """In the order of the text."""
        order = sorted(range(len(self.kept)), key=lambda number: (self.kept[number].row, self.kept[number].position))
        self.kept, self.blocks = [self.kept[number] for number in order], [self.blocks[number] for number in order]


@dataclass(slots=True)
class Blocks:
    """Documents as they pass by; ``number`` is that of the block which the last one belongs to.

    What stands in one block may be about one thing. A block is a document, or in plain text, where lines are documents,
    a run of up to ``size`` lines between two empty ones.
    """

    documents: Iterable[Document]
    size: int = 1
    number: int = 0

    def __iter__(self) -> Iterator[Document]:
        held, source = 0, None
        for document in self.documents:
            is_blank = document.text is not None and not document.text.strip()
            if is_blank or held == self.size or document.source != source:
                self.number, held, source = self.number + 1, 0, document.source
            held += 1
            yield document


def sample_words(
    elmo: Elmo, words: Sequence[str], documents: Iterable[Document], most: int, *, seed: int = 0, block: int = 1
) -> dict[str, WordSample]:
    """The occurrences of each word, whatever its case, in the order of the text; memory does not grow with the text."""
    wanted = {word.casefold(): WordSample(most) for word in words}
    randoms = {word: np.random.default_rng([seed, number]) for number, word in enumerate(wanted)}
    blocks = Blocks(documents, block)
    holding = (one for one in blocks if _may_hold(one, wanted))
    for number, passage in enumerate(read_passages(holding, elmo.split, shard=Shard())):
        if len(passage.tokens) <= LONGEST:
            for position, token in enumerate(passage.tokens):
                if (folded := token.casefold()) in wanted:
                    wanted[folded].offer(_occurrence(passage, number, position), randoms[folded], blocks.number)
    for sample in wanted.values():
        sample.sort()
    return {word: wanted[word.casefold()] for word in words}


def sample_files(
    elmo: Elmo,
    words: Sequence[str],
    inputs: Sequence[str | Path],
    most: int,
    *,
    kind: str | None = None,
    field: str | None = None,
    seed: int = 0,
) -> dict[str, WordSample]:
    """`sample_words` of files, globs or tables."""
    with working("looking for " + (words[0] if len(words) == 1 else f"{len(words)} words")) as work:

        def counted() -> Iterator[Document]:
            for number, document in enumerate(read_documents(inputs, kind=kind, field=field), start=1):
                yield document
                if number % 1000 == 0:
                    work.advance(1000, note=f"{number:,} lines")

        plain = any(kind_of(source, kind) == "txt" for source in expand_inputs(inputs))
        return sample_words(elmo, words, counted(), most, seed=seed, block=BLOCK_LINES if plain else 1)


def _may_hold(document: Document, wanted: Iterable[str]) -> bool:
    """Most texts hold none of the words, and to look for letters is quicker than to split sentences."""
    if document.text is None:
        return True
    folded = document.text.casefold()
    return any(word in folded for word in wanted)


def _occurrence(passage: Passage, row: int, position: int) -> Occurrence:
    begin, end = passage.bounds
    first, last = passage.offsets[position].tolist()
    return Occurrence(
        row=row,
        text=passage.whole[begin:end],
        tokens=passage.tokens,
        position=position,
        span=(first - begin, last - begin),
        source=passage.document.source,
        document=passage.document.id,
        sentence=passage.sentence,
    )
