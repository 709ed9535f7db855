"""Coreference data: which spans of a document refer to the same thing.

    #begin document (name); part 000
    name  0  0  Mary  …  speaker  *  (3)         in the last column "(3" opens and "3)" closes a mention of chain 3;
    name  0  1  saw   …  speaker  *  -           several stand side by side: "(3)|(5"
    …
    #end document

That is CoNLL-2012: one file, or a folder of files (``*conll``, also compressed; only ``*gold_conll`` if
there are any).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.tagged import cells
from polyseme.text.lines import without_compression

Mention = tuple[int, int]  # [start, end) in the document's tokens
Chains = Mapping[int, tuple[Mention, ...]]  # a chain's number in the file → its mentions, in order

BEGIN = re.compile(r"#begin document \((?P<name>.*)\);? ?(?:part (?P<part>\d+))?\s*")
END = "#end document"
NOTHING = "-"
_PART_OF_CELL = re.compile(r"(\(?)(\d+)(\)?)")
_FEWEST_COLUMNS = 5  # document, part, index, word, …, coreference
_SPEAKER = 9


@dataclass(frozen=True, slots=True)
class CorefDocument:
    """The sentences of a document, the speaker of each token, and its chains; ``lines`` are its lines in the file."""

    name: str
    part: int
    sentences: tuple[tuple[str, ...], ...]
    speakers: tuple[str, ...]
    chains: Chains
    lines: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for sentence in self.sentences for word in sentence)


def read_coref(path: str | Path, reading: FileReading | None = None) -> list[CorefDocument]:
    """All documents of a file, or of a folder's files in order of their names."""
    reading = reading or FileReading()
    documents = [document for file in coref_files(Path(path)) for document in _read_file(str(file), reading)]
    if not documents:
        raise InputError(f"{path} has no document; expected CoNLL-2012 with '#begin document' lines")
    return documents


def document_lines(document: CorefDocument) -> list[str]:
    """The lines of a document with its chains in the last column and all else unchanged."""
    if not document.lines:
        return document_lines(replace(document, lines=tuple(_new_lines(document))))
    wanted = chain_cells(document.chains, len(document.words))
    lines, place = list[str](), 0
    for line in document.lines:
        if not _is_token(line):
            lines.append(line)
            continue
        cell = cells(line)[-1]
        keep = sorted(cell.split("|")) == sorted(wanted[place].split("|"))  # keep the file's own order within a cell
        lines.append(line if keep else line[: line.rindex(cell)] + wanted[place])
        place += 1
    return lines


def chain_cells(chains: Chains, count: int) -> list[str]:
    """The last column: mentions that end here, shortest first; those of one token; those that begin, longest first."""
    ends, singles, begins = ([list[tuple[int, str]]() for _ in range(count)] for _ in range(3))
    for number, mentions in chains.items():
        for start, end in mentions:
            if end - start == 1:
                singles[start].append((number, f"({number})"))
            else:
                begins[start].append((start - end, f"({number}"))
                ends[end - 1].append((end - start, f"{number})"))
    rows = zip(ends, singles, begins, strict=True)
    return ["|".join(text for part in row for _, text in sorted(part)) or NOTHING for row in rows]


def without_singletons(document: CorefDocument) -> CorefDocument:
    """The same document without chains of one mention, since OntoNotes has none."""
    chains = {number: mentions for number, mentions in document.chains.items() if len(mentions) > 1}
    return replace(document, chains=chains)


def new_document(name: str, sentences: Sequence[Sequence[str]], chains: Chains) -> CorefDocument:
    """A document that does not come from a file, with unknown speakers."""
    split = tuple(tuple(sentence) for sentence in sentences)
    return CorefDocument(name, 0, split, (NOTHING,) * sum(map(len, split)), chains)


def genre_of(name: str) -> str:
    """ "bc/cctv/00/cctv_0001" → "bc" (OntoNotes), "GUM_news_asylum" → "news" (GUM), else ""."""
    if "/" in name:
        return name.split("/", 1)[0]
    return name.split("_")[1] if name.startswith("GUM_") and name.count("_") > 1 else ""


def coref_files(path: Path) -> list[Path]:
    """The CoNLL files in a folder and its subfolders; a file itself."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if without_compression(file.name).endswith("conll"))
    gold = [file for file in found if without_compression(file.name).endswith("gold_conll")]
    if not found:
        raise InputError(f"{path} has no file whose name ends in conll; give a CoNLL-2012 file or a folder of them")
    return gold or found


def _is_token(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#begin document", END))


def _read_file(source: str, reading: FileReading) -> list[CorefDocument]:
    """The documents of a file, without those with a skipped line, whose chains would be broken."""
    documents, lines, start = list[CorefDocument](), list[str](), 0
    skipped, known = list[int](), 0
    for number, line in reading.lines(source, skipped):
        if not lines and line.strip() and not line.startswith("#begin document"):
            raise InputError(f"{source}, line {number} is outside a document; expected '#begin document (…'")
        if lines and line.startswith("#begin document"):
            raise InputError(f"{source}, line {number} begins a document before '{END}' ends the last one")
        start = start if lines else number
        if lines or line.strip():
            lines.append(line)
        if line.startswith(END):
            documents += [_document(lines, start, source)] if len(skipped) == known else []
            lines, known = [], len(skipped)
    if lines:
        raise InputError(f"{source} ends inside a document; expected '{END}' at the end of the one in line {start}")
    return documents


def _document(lines: list[str], start: int, source: str) -> CorefDocument:
    begin = BEGIN.fullmatch(lines[0])
    if begin is None:
        raise InputError(f"{source}, line {start} should read '#begin document (name); part 000': {lines[0][:60]!r}")
    sentences, speakers = [list[str]()], list[str]()
    column, width = list[tuple[str, str]](), 0
    for number, line in enumerate(lines[1:-1], start=start + 1):
        place = f"{source}, line {number}"
        if not line.strip():
            sentences.append([])
            continue
        row = cells(line)
        width = width or len(row)
        _check_row(row, width, place)
        sentences[-1].append(row[3])
        speakers.append((row[_SPEAKER] if width > _SPEAKER + 2 else "") or NOTHING)
        column.append((row[-1], place))
    return CorefDocument(
        name=begin["name"],
        part=int(begin["part"] or 0),
        sentences=tuple(tuple(sentence) for sentence in sentences if sentence),
        speakers=tuple(speakers),
        chains=_chains(column),
        lines=tuple(lines),
    )


def _check_row(row: list[str], width: int, place: str) -> None:
    if len(row) < _FEWEST_COLUMNS or not row[2].isdigit():
        raise InputError(f"{place} is not CoNLL-2012 (document, part, number, word, …, coreference): {row[:4]}")
    # OntoNotes has a column for each predicate, so sentences differ in width; without such columns they do not
    if len(row) != width and min(len(row), width) < 12:
        raise InputError(f"{place} has {len(row)} columns where the document's first line has {width}")


def _chains(column: list[tuple[str, str]]) -> Chains:
    chains, opened = dict[int, list[Mention]](), dict[int, list[tuple[int, str]]]()
    for token, (cell, place) in enumerate(column):
        if cell == NOTHING:
            continue
        for part in cell.split("|"):
            found = _PART_OF_CELL.fullmatch(part)
            if found is None or not (found[1] or found[3]):
                raise InputError(f"{place}: {cell!r} is not a coreference column; expected '-', '(3', '3)' or '(3)'")
            chain = int(found[2])
            if found[1]:
                opened.setdefault(chain, []).append((token, place))
            if found[3]:
                if not opened.get(chain):
                    raise InputError(f"{place} closes a mention of chain {chain} that is not open")
                chains.setdefault(chain, []).append((opened[chain].pop()[0], token + 1))
    for chain, left in opened.items():
        if left:
            raise InputError(f"{left[-1][1]} opens a mention of chain {chain} that is never closed")
    return {chain: tuple(sorted(mentions)) for chain, mentions in sorted(chains.items())}


def _new_lines(document: CorefDocument) -> list[str]:
    lines, words = [f"#begin document ({document.name}); part {document.part:03d}"], iter(document.speakers)
    for sentence in document.sentences:
        for number, word in enumerate(sentence):
            row = (document.name, document.part, number, word, "-", "*", "-", "-", "-", next(words), "*", NOTHING)
            lines.append("\t".join(map(str, row)))
        lines.append("")
    return [*lines, END]
