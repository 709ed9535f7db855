"""Sentences out of files that are tokenised already: words of a CoNLL-U treebank, residues of a FASTA file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from polyseme.errors import InputError
from polyseme.text.lines import LIMIT_BYTES, read_lines

_TOKEN_ID = re.compile(r"[0-9]+")
_OTHER_ID = re.compile(r"[0-9]+[-.][0-9]+")  # a multi-word token ("2-3") or an empty node ("2.1")
_RESIDUES = re.compile(r"[A-Za-z*.-]*")


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
    """(id, [residues]): one upper-case residue a token, a stop "*" at the end left out."""
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
            raise InputError(f"{source}, line {number} holds characters that are no residues: {line[:40]!r}")
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
