"""Pass 1 of preparing a corpus: number tokens in order of appearance, find sentence and document bounds, count.

    input files → chunks of text of about equal size → arrays of ids for each chunk → growing files

Only the table of distinct tokens is in memory; everything else is appended to files. Plain text is read line by line,
not document by document: a line always ends a sentence, so the sentences are the same, and a file without empty lines
may have any size.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from polyseme.jobs.manifests import InputFile, describe_input
from polyseme.jobs.ordered_map import map_in_order
from polyseme.jobs.progress import Work
from polyseme.pretrain.corpus.corpus import U4, U8
from polyseme.text.lines import STDIN, compression_of
from polyseme.text.readers import Document, expand_inputs, kind_of, read_documents
from polyseme.text.tokenization import Language, split_text, units_of

CHUNK_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One input file, checked: it exists and its kind is known."""

    name: str
    kind: str
    field: str | None
    size: int | None  # in bytes; None if it is not a regular file

    def describe(self) -> InputFile:
        """Its name, size and hash."""
        if self.size is None:
            return InputFile(self.name, None, None)
        return describe_input(self.name, name=Path(self.name).name)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text that ends at the end of a sentence, or sentences that are already tokenised."""

    text: str
    sentences: list[list[str]] | None
    begins_document: bool


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Pieces for one worker, and how many bytes of all input files have been read by the end of them."""

    pieces: list[TextPiece]
    bytes_read: int


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """A chunk as ids, numbered within the chunk."""

    types: list[str]
    counts: NDArray[np.int64]  # [types]
    ids: NDArray[np.uint32]  # [tokens]
    lengths: NDArray[np.uint32]  # [sentences]
    begins_document: NDArray[np.bool_]  # [sentences]
    ends_document: bool  # a document begins after the last sentence
    bytes_read: int


def find_sources(inputs: Sequence[str | Path], kind: str | None, field: str | None) -> list[Source]:
    """The input files in order; names, kinds, packages and ``field`` are checked here, contents while reading."""
    read_documents(inputs, kind=kind, field=field)  # checks all of them, without reading anything yet
    sources = []
    for name in expand_inputs(inputs):
        found = kind_of(name, kind)
        size = Path(name).stat().st_size if name != STDIN and Path(name).is_file() else None
        sources.append(Source(name, found, field if found not in ("txt", "conllu", "fasta") else None, size))
    return sources


def read_chunks(sources: Sequence[Source]) -> Iterator[TextChunk]:
    """All text of all sources, in order."""
    pieces, characters, finished = list[TextPiece](), 0, 0
    for source in sources:
        read = 0
        for piece in _read_pieces(source):
            pieces.append(piece)
            characters += _characters(piece)
            read += _bytes_of_file(source, piece)
            if characters >= CHUNK_CHARACTERS:
                yield TextChunk(pieces, finished + min(read, source.size or 0))
                pieces, characters = [], 0
        finished += source.size or 0
    if pieces:
        yield TextChunk(pieces, finished)


def encode_chunk(chunk: TextChunk, lang: Language) -> EncodedChunk:
    """Tokenise a chunk and number its types by first occurrence; empty sentences are left out."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new word gets the next number, without a Python call
    ids, lengths, begins = array("I"), list[int](), list[bool]()
    pending = False
    for piece in chunk.pieces:
        pending |= piece.begins_document
        for tokens in _sentences(piece, lang):
            if tokens:
                ids.extend(map(numbers.__getitem__, tokens))
                lengths.append(len(tokens))
                begins.append(pending)
                pending = False
    local = np.array(ids, U4)
    return EncodedChunk(
        types=list(numbers),
        counts=np.bincount(local, minlength=len(numbers)),
        ids=local,
        lengths=np.array(lengths, U4),
        begins_document=np.array(begins, bool),
        ends_document=pending,
        bytes_read=chunk.bytes_read,
    )


def _read_pieces(source: Source) -> Iterator[TextPiece]:
    lines = source.kind == "txt"
    documents = read_documents(
        [source.name], kind=source.kind, field=source.field, unit="line" if lines else "document"
    )
    begins = True
    for document in documents:
        if lines and not _is_blank(document):
            yield TextPiece(document.text or "", None, begins)
            begins = False
        elif lines:
            begins = True
        else:
            yield TextPiece(document.text or "", document.sentences, True)


def _is_blank(line: Document) -> bool:
    return not line.text or line.text.isspace()


def _sentences(piece: TextPiece, lang: Language) -> Iterator[list[str]]:
    if piece.sentences is not None:
        yield from (units_of(sentence, lang) for sentence in piece.sentences)
    else:
        for sentence in split_text(piece.text, lang):
            yield sentence.tokens


def _characters(piece: TextPiece) -> int:
    return len(piece.text) + 1 + sum(len(token) + 1 for tokens in piece.sentences or () for token in tokens)


def _bytes_of_file(source: Source, piece: TextPiece) -> int:
    """How many bytes of its file a piece takes up, if known, for the progress bar."""
    if source.kind != "txt" or compression_of(source.name) is not None:
        return 0
    return 1 + (len(piece.text) if piece.text.isascii() else len(piece.text.encode()))


class Gathered:
    """The types in order of first occurrence, how often each occurs, and the totals so far."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._counts = np.zeros(1024, np.int64)  # grows ahead of the types
        self.tokens = self.sentences = self.documents = self.longest_sentence = 0

    @property
    def counts(self) -> NDArray[np.int64]:  # [types]
        return self._counts[: len(self.numbers)]

    def number_types(self, chunk: EncodedChunk) -> NDArray[np.uint32]:
        """The global number of each type of a chunk; also adds its counts."""
        numbers = self.numbers
        found = np.array([numbers.setdefault(word, len(numbers)) for word in chunk.types], U4)
        if len(numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(numbers), np.int64)])
        self._counts[found] += chunk.counts  # `found` has no duplicates
        return found


def gather(
    sources: Sequence[Source],
    folder: Path,
    *,
    lang: Language,
    workers: int,
    work: Work,
) -> Gathered:
    """Write tokens.bin (provisional numbers), sentences.bin and documents.bin; ``work`` is told the bytes read."""
    gathered = Gathered()
    chunks = map_in_order(partial(encode_chunk, lang=lang), read_chunks(sources), workers)
    with (
        closing(chunks),
        (folder / "tokens.bin").open("wb") as tokens,
        (folder / "sentences.bin").open("wb") as sentences,
        (folder / "documents.bin").open("wb") as documents,
    ):
        document_is_due = False
        for chunk in chunks:
            if document_is_due and len(chunk.lengths):
                chunk.begins_document[0] = True
            document_is_due = chunk.ends_document or (document_is_due and not len(chunk.lengths))
            _append(chunk, gathered, tokens, sentences, documents)
            work.reach(chunk.bytes_read, tokens=gathered.tokens)
        _write(sentences, np.array([gathered.tokens], U8))
        _write(documents, np.array([gathered.sentences], U8))
    return gathered


def _append(
    chunk: EncodedChunk, gathered: Gathered, tokens: IO[bytes], sentences: IO[bytes], documents: IO[bytes]
) -> None:
    if not len(chunk.lengths):
        return
    ends = gathered.tokens + np.cumsum(chunk.lengths, dtype=U8)
    begins = np.flatnonzero(chunk.begins_document) + gathered.sentences
    _write(tokens, gathered.number_types(chunk)[chunk.ids])
    _write(sentences, ends - chunk.lengths)
    _write(documents, begins.astype(U8))
    gathered.tokens += len(chunk.ids)
    gathered.sentences += len(chunk.lengths)
    gathered.documents += len(begins)
    gathered.longest_sentence = max(gathered.longest_sentence, int(chunk.lengths.max()))


def _write(file: IO[bytes], values: NDArray[Any]) -> None:
    file.write(values.tobytes())  # not ndarray.tofile, whose errors do not say that the disk is full
