"""One iterator of documents for every kind of input file.

    plain text · JSONL · CSV · TSV · Parquet · CoNLL-U · FASTA      each also as .gz, .xz, .bz2 or .zst

The suffix before that of the compression shows the kind (``reviews.jsonl.zst``); anything else is plain text; "-" is
standard input. Memory does not grow with the size of a file: only one line or document is held.
"""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from polyseme.errors import ConfigError, InputError
from polyseme.text.lines import LIMIT_BYTES, STDIN, compression_of, open_bytes, read_lines, without_compression
from polyseme.text.tables import Columns, Row, read_csv, read_jsonl, read_parquet, read_tsv

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
_TOKEN_ID = re.compile(r"[0-9]+")
_OTHER_ID = re.compile(r"[0-9]+[-.][0-9]+")  # a multi-word token ("2-3") or an empty node ("2.1")
_RESIDUES = re.compile(r"[A-Za-z*.-]*")


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of input: raw text, or sentences that are already tokenised; the other one is None."""

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

    ``inputs`` are files, globs (sorted) and "-"; names, kinds and packages are checked immediately, contents while they
    are read. ``field`` names the text column of a table ("text" by default; "a.b" is nested), ``id`` the id column
    ("id" if there is one), ``keep`` further columns to pass along. ``unit`` says what a document is: in plain text,
    each line (also a blank one, so that ids are line numbers) or the lines between two empty lines; in CoNLL-U, each
    sentence or each ``# newdoc``.
    """
    if isinstance(inputs, str | Path):
        inputs = [inputs]
    sources = expand_inputs(inputs)
    kinds = [kind_of(source, kind) for source in sources]
    for source in sources:
        if Path(source).is_dir():
            raise InputError(f"{source} is a folder; give its files, for example {Path(source) / '*.txt'}")
    named = [*([field] if field is not None else []), *([id] if id is not None else []), *keep]
    if named and not any(kind in _WITH_FIELDS for kind in kinds):
        hint = "; say with --kind what standard input holds" if STDIN in sources and kind is None else ""
        raise ConfigError(
            f"the field {named[0]!r} was given, but no input is a table ({', '.join(_WITH_FIELDS)}){hint}"
        )
    return _read_all(list(zip(sources, kinds, strict=True)), Columns(field or "text", id, tuple(keep)), unit)


def expand_inputs(inputs: Sequence[str | Path]) -> list[str]:
    """The files that ``inputs`` stand for; a glob that matches nothing and a missing file are errors."""
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
    """The kind of one input: ``kind`` if given, else by suffix; MissingExtra if a package it needs is missing."""
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"there is no input format {kind!r}; there are: {', '.join(KINDS)}")
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


def read_conllu(stream: io.BufferedReader, source: str, *, by_document: bool) -> Iterator[tuple[str, list[list[str]]]]:
    """(id, sentences): each sentence by its ``sent_id`` (else its number), or all between two ``# newdoc`` lines.

    Words are the lines with a whole number as id; multi-word tokens and empty nodes are left out.
    """
    identifier, gathered, size, count = "", list[list[str]](), 0, 0
    in_document = False
    for sent_id, newdoc, words in _conllu_sentences(read_lines(stream, source), source):
        if not by_document:
            yield sent_id or str(count), [words]
            count += 1
            continue
        if newdoc is not None or not in_document:
            if gathered:
                yield identifier, gathered
                count += 1
            in_document = newdoc is not None
            identifier, gathered, size = newdoc or (str(count) if in_document else sent_id or str(count)), [], 0
        gathered.append(words)
        size += sum(len(word) for word in words)
        refuse_long_document(size, source, identifier)
    if gathered:
        yield identifier, gathered


def read_fasta(stream: io.BufferedReader, source: str) -> Iterator[tuple[str, list[list[str]]]]:
    """(id, [residues]): each token is one upper-case residue; a stop "*" at the end is left out."""
    identifier: str | None = None
    parts: list[str] = []
    size, count = 0, 0
    for number, line in enumerate(read_lines(stream, source), start=1):
        if line.startswith(">"):
            if identifier is not None:
                yield identifier, _residues(parts)
                count += 1
            identifier, parts, size = _fasta_id(line) or str(count), [], 0
            continue
        residues = "".join(line.split())
        if residues and identifier is None:
            raise InputError(f"{source}, line {number} comes before the first '>' line; expected a FASTA file")
        if not _RESIDUES.fullmatch(residues):
            raise InputError(f"{source}, line {number} has characters that are not residues: {line[:40]!r}")
        parts.append(residues)
        size += len(residues)
        refuse_long_document(size, source, identifier or "")
    if identifier is not None:
        yield identifier, _residues(parts)


def refuse_long_document(size: int, source: str, identifier: str) -> None:
    """One document is held in memory, so it has a limit."""
    if size > LIMIT_BYTES:
        raise InputError(
            f"{source}: the document {identifier!r} is longer than {LIMIT_BYTES >> 20} MB; "
            "separate its documents (in plain text: by empty lines), or read line by line"
        )


def _conllu_sentences(lines: Iterator[str], source: str) -> Iterator[tuple[str, str | None, list[str]]]:
    """(sent_id or "", the id of a document that begins here or None, words)."""
    sent_id, newdoc, words = "", None, list[str]()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            if words:
                yield sent_id, newdoc, words
                sent_id, newdoc, words = "", None, []
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "sent_id":
                sent_id = value.strip()
            elif key.split()[:1] == ["newdoc"]:
                newdoc = value.strip()
        else:
            columns = line.split("\t", 2)
            if len(columns) > 1 and _TOKEN_ID.fullmatch(columns[0]) and columns[1]:
                words.append(columns[1])
            elif len(columns) == 1 or not _OTHER_ID.fullmatch(columns[0]):
                raise InputError(f"{source}, line {number} is not CoNLL-U (id, tab, word, …): {line[:40]!r}")
    if words:
        yield sent_id, newdoc, words


def _fasta_id(header: str) -> str:
    """ ">sp|P1|A" → "P1", ">P1 human" → "P1"."""
    first = (header[1:].split() or [""])[0]
    return (first.split("|")[1] if "|" in first else first) or first


def _residues(parts: list[str]) -> list[list[str]]:
    sequence = "".join(parts).upper().removesuffix("*")
    return [list(sequence)] if sequence else []
