"""One iterator of documents over every kind of input file.

    plain text · JSONL · CSV · TSV · Parquet · CoNLL-U · FASTA      each also as .gz, .xz, .bz2 or .zst

The kind is told by the suffix before the compression's (``reviews.jsonl.zst``), anything else is plain text; "-" is
standard input. Memory stays constant whatever a file's size: what is held is one line, or one document.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from polyseme.errors import ConfigError, InputError
from polyseme.text.compression import STDIN, compression_of, open_bytes, without_compression
from polyseme.text.lines import read_lines
from polyseme.text.tables import Columns, Row, read_csv, read_jsonl, read_parquet, read_tsv
from polyseme.text.tokenized import read_conllu, read_fasta, refuse_long_document

Unit = Literal["line", "document"]

KINDS = ("txt", "jsonl", "csv", "tsv", "parquet", "conllu", "fasta")
_KIND_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".conllu": "conllu",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fas": "fasta",
}
_TableReader = Callable[[io.BufferedReader, str, Columns], Iterator[Row]]
_WITH_FIELDS = ("jsonl", "csv", "tsv", "parquet")


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of input: raw text, or sentences that are tokenised already; the other one is None."""

    id: str  # within its file: its own, a sent_id, a FASTA id, or the number of the line or record from 0
    text: str | None
    sentences: list[list[str]] | None
    source: str  # the file's name as given
    kept: Mapping[str, Any] = dataclass_field(default_factory=dict)  # other columns of its table, by name


def read_documents(
    inputs: Sequence[str | Path],
    *,
    kind: str | None = None,
    field: str | None = None,
    unit: Unit = "line",
    id: str | None = None,
    keep: Sequence[str] = (),
) -> Iterator[Document]:
    """All documents of all inputs, in order.

    ``inputs`` are files, globs (sorted) and "-"; names, kinds and packages are checked at once, contents while they
    are read. ``field`` names the text in a table ("text" unless given; "a.b" is nested), ``id`` the column of ids ("id"
    where there is one), ``keep`` columns that go along. ``unit`` matters to plain text, where each line is a document
    of its own (a blank one too, so that ids are line numbers) or the lines between two empty lines are; and to CoNLL-U,
    where each sentence or each ``# newdoc`` is.
    """
    if isinstance(inputs, str | Path):
        inputs = [inputs]
    sources = expand_inputs(inputs)
    kinds = [kind_of(source, kind) for source in sources]
    named = [*([field] if field is not None else []), *([id] if id is not None else []), *keep]
    if named and not any(kind in _WITH_FIELDS for kind in kinds):
        raise ConfigError(f"the field {named[0]!r} was given, but no input is a table ({', '.join(_WITH_FIELDS)})")
    return _read_all(list(zip(sources, kinds, strict=True)), Columns(field or "text", id, tuple(keep)), unit)


def expand_inputs(inputs: Sequence[str | Path]) -> list[str]:
    """The files that ``inputs`` stand for; a glob that matches nothing and a file that is not there are errors."""
    sources: list[str] = []
    for name in map(str, inputs):
        if name == STDIN or Path(name).exists():
            sources.append(name)
        elif glob.has_magic(name):
            matches = glob.glob(name, recursive=True)  # noqa: PTH207  Path.glob takes no absolute pattern
            found = sorted(match for match in matches if Path(match).is_file())
            if not found:
                raise InputError(f"no file matches {name}")
            sources.extend(found)
        else:
            raise InputError(f"{name} does not exist")
    if sources.count(STDIN) > 1:
        raise InputError("standard input ('-') can be read only once")
    return sources


def kind_of(source: str, kind: str | None = None) -> str:
    """The kind of one input: ``kind`` if given, else by suffix; the packages it needs are there when this returns."""
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"there is no kind of input {kind!r}; there are: {', '.join(KINDS)}")
    compression_of(source)
    return kind or _KIND_OF_SUFFIX.get(Path(without_compression(source)).suffix.lower(), "txt")


def _read_all(sources: list[tuple[str, str]], columns: Columns, unit: Unit) -> Iterator[Document]:
    for source, kind in sources:
        with open_bytes(source) as stream:
            if kind in _WITH_FIELDS:
                for row in _table_reader(kind, source)(stream, source, columns):
                    yield Document(row.id, row.text, None, source, row.kept)
            elif kind == "txt":
                lines = read_lines(stream, source)
                numbered = enumerate(lines) if unit == "line" else _paragraphs(lines, source)
                for number, text in numbered:
                    yield Document(str(number), text, None, source)
            else:
                for identifier, sentences in _tokenized(kind, stream, source, unit):
                    yield Document(identifier, None, sentences, source)


def _table_reader(kind: str, source: str) -> _TableReader:
    seekable = source != STDIN and compression_of(source) is None
    readers: dict[str, _TableReader] = {
        "jsonl": read_jsonl,
        "csv": read_csv,
        "tsv": read_tsv,
        "parquet": partial(read_parquet, seekable=seekable),
    }
    return readers[kind]


def _tokenized(kind: str, stream: io.BufferedReader, source: str, unit: Unit) -> Iterator[tuple[str, list[list[str]]]]:
    if kind == "fasta":
        return read_fasta(stream, source)
    return read_conllu(stream, source, by_document=unit == "document")


def _paragraphs(lines: Iterator[str], source: str) -> Iterator[tuple[int, str]]:
    """Lines between empty lines, joined and numbered."""
    number, gathered, size = 0, list[str](), 0
    for line in lines:
        if line.strip():
            gathered.append(line)
            size += len(line)
            refuse_long_document(size, source, str(number))
        elif gathered:
            yield number, "\n".join(gathered)
            number, gathered, size = number + 1, [], 0
    if gathered:
        yield number, "\n".join(gathered)
