"""Files with a word and its tag on each line, in any columns: CoNLL-2003, UNER, KLUE and similar formats.

The tag column is the last one that holds only tags; the word column is the first other one that can hold words (see
``word_column``). The tag scheme is detected from all tags of the file. Sentences are blocks of lines separated by
empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, quoted
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Split
from polyseme.tasks.spans import find_scheme, is_tag

Table = Sequence[Sequence[Sequence[str]]]  # sentences, their rows, the cells of a row

_NUMBER = re.compile(r"[0-9]+(?:[-.][0-9]+)?")  # id of a word, of several ("2-3"), or of an empty node ("2.1")
Row = tuple[tuple[str, ...], tuple[str, ...]]  # words, tags

DOCUMENT_START = "-DOCSTART-"
_NAMED_COMMENT = re.compile(r"#+\s*[\w:.-]+(\s+[\w:.-]+)*\s*=")  # "# text = …", "# newdoc id = …"


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one sentence and those before it (empty lines, comments), unchanged."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    number: int  # of the first line of the sentence, from 1

    def place(self, source: str, row: int) -> str:
        """ "train.props, line 12" for a row of this sentence."""
        return f"{source}, line {self.number + row}"


def read_blocks(
    path: str | Path, is_comment: Callable[[str], bool], reading: FileReading | None = None
) -> Iterator[Block]:
    """All sentences; a final block without lines holds what follows the last sentence.

    A sentence with a skipped line is left out as a whole: without one of its words it would be another sentence.
    """
    before, lines, start = list[str](), list[str](), 0
    skipped, known = list[int](), 0  # skipped lines, and how many of them come before this sentence
    for number, line in (reading or FileReading()).lines(path, skipped):
        if line.strip() and not is_comment(line):
            start = number if not lines else start
            lines.append(line)
            continue
        if lines and len(skipped) == known:
            yield Block(tuple(before), tuple(lines), start)
            before = []
        lines, known = [], len(skipped)
        before.append(line)
    if lines and len(skipped) == known:
        yield Block(tuple(before), tuple(lines), start)
        before = []
    if before:
        yield Block(tuple(before), (), 0)


def cells(line: str) -> list[str]:
    """The columns of a line, split at tabs if it has any, else at spaces, but not at no-break spaces."""
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def word_column(table: Table, columns: Iterable[int]) -> int | None:
    """The first of these columns that can hold the words; None if all of them hold numbers.

    The name of a document or sentence is the same throughout a sentence; words are not. A column of capitals holds tags
    if another column has lower-case or caseless letters and more different values.
    """
    values = {column: {row[column] for rows in table for row in rows} for column in columns}
    written = [column for column, found in values.items() if not all(map(_NUMBER.fullmatch, found))]
    varied = [column for column in written if not _names_sentences(table, column)] or written
    text = [column for column in varied if not all(map(_is_capitals, values[column]))]
    most = max((len(values[column]) for column in text), default=0)
    return next((column for column in varied if column in text or len(values[column]) >= most), None)


def _names_sentences(table: Table, column: int) -> bool:
    """Whether several sentences of two or more words have only one value each; a single one may be "No no"."""
    longer = [rows for rows in table if len(rows) > 1]
    return len(longer) > 1 and all(row[column] == rows[0][column] for rows in longer for row in rows)


def _is_capitals(cell: str) -> bool:
    return cell.isascii() and cell == cell.upper()


def words_of(block: Block, rows: Sequence[Sequence[str]], column: int, source: str) -> tuple[str, ...]:
    """The words of a sentence; InputError with the line number if one is empty."""
    for number, row in enumerate(rows):
        if not row[column]:
            raise InputError(f"{block.place(source, number)} has an empty word in column {column + 1}")
    return tuple(row[column] for row in rows)


def is_comment(line: str) -> bool:
    """ "# sent_id = 3" and "## anything", but not the word "#" with its tag."""
    if not line.startswith("#"):
        return False
    return line.startswith("##") or bool(_NAMED_COMMENT.match(line)) or not any(map(is_tag, cells(line)[1:]))


def read_tagged(path: Path, fits: Callable[[str], bool], reading: FileReading) -> list[Row]:
    """(words, tags) of every sentence; the tags follow one scheme, unless a lenient reading finds none."""
    source = str(path)
    found = read_blocks(path, is_comment, reading)
    blocks = [block for block in found if block.lines and not starts_document(block)]
    if not blocks:
        raise InputError(f"{source} holds no sentences; expected a word and its tag on each line")
    table = [[cells(line) for line in block.lines] for block in blocks]
    _check_widths(blocks, table, source)
    tag = _tag_column(blocks, table, source, fits)
    word = word_column(table, [column for column in range(len(table[0][0])) if column != tag])
    if word is None:
        raise InputError(f"{blocks[0].place(source, 0)}: there are only numbers next to the tag; expected a word")
    if word > 0:
        _refuse_ranges(blocks, table, source)
    rows = [
        (words_of(block, rows, word, source), tuple(row[tag] for row in rows))
        for block, rows in zip(blocks, table, strict=True)
    ]
    try:
        find_scheme([tags for _, tags in rows], lambda row, token: blocks[row].place(source, token))
    except InputError as error:
        if not reading.lenient:
            raise InputError(f"{error} (--lenient accepts such tags)") from None
        reading.said(f"{error}; read as by the CoNLL scorer: a name begins where none is open")
    return rows


def starts_document(block: Block) -> bool:
    return len(block.lines) == 1 and block.lines[0].startswith(DOCUMENT_START)


def _check_widths(blocks: list[Block], table: list[list[list[str]]], source: str) -> None:
    width = len(table[0][0])
    if width < 2:
        raise InputError(
            f"{blocks[0].place(source, 0)}: expected a word and its tag, found {blocks[0].lines[0][:40]!r}"
        )
    for block, rows in zip(blocks, table, strict=True):
        for number, row in enumerate(rows):
            if len(row) != width:
                raise InputError(
                    f"{block.place(source, number)} has {len(row)} columns where the first line has {width}: "
                    f"{block.lines[number][:40]!r}"
                )


def _tag_column(blocks: list[Block], table: list[list[list[str]]], source: str, fits: Callable[[str], bool]) -> int:
    """The last column of only tags; else InputError with the line where the nearest candidate fails."""
    misfits = []
    for column in range(len(table[0][0])):
        wrong = [(s, t) for s, rows in enumerate(table) for t, row in enumerate(rows) if not fits(row[column])]
        if not wrong:
            misfits.append((0, -column, (0, 0)))
        else:
            misfits.append((len(wrong), -column, wrong[0]))
    count, column, (sentence, token) = min(misfits)
    if count:
        found = table[sentence][token][-column]
        raise InputError(
            f"{blocks[sentence].place(source, token)}: {found[:40]!r} is not a tag; expected O, or a letter and a "
            "class such as B-PER, in one column of every line"
        )
    return -column


def _refuse_ranges(blocks: list[Block], table: list[list[list[str]]], source: str) -> None:
    """Refuse lines such as "2-3 don't" before "2 do" and "3 n't", which would be one word too many."""
    for block, rows in zip(blocks, table, strict=True):
        for number, (row, after) in enumerate(pairwise(rows)):
            if after[0].isdigit() and row[0].startswith(f"{after[0]}-"):
                place = block.place(source, number)
                raise InputError(f"{place} is for the words {row[0]}, whose own lines follow; leave it out")


def one_sentence(item: Any, split: Split) -> list[tuple[str, ...]]:
    """The sentences to tag, from a text, from tokens, or from an object with "tokens" or "text"."""
    if isinstance(item, dict):
        item = item.get("tokens", item.get("text", item))
    if isinstance(item, str):
        return [tuple(sentence.tokens) for sentence in split(item)]
    return [tokens_of(item)]


def tokens_of(value: Any) -> tuple[str, ...]:
    """Checked tokens; InputError for any that could not be written into a column and read back."""
    if not isinstance(value, list | tuple) or not all(isinstance(token, str) for token in value):
        raise InputError(
            f"expected a text, or a list of tokens, or an object with one of them, but found {quoted(value)}"
        )
    for place, token in enumerate(value):
        if not token or breaks_columns(token):
            raise InputError(
                f"token {place} is {quoted(token)}, but must not be empty or contain a tab or a line break"
            )
    return tuple(value)


def breaks_columns(text: str) -> bool:
    """Whether a text has tabs or line breaks. A blank is allowed: our columns are separated by tabs."""
    return any(sign in text for sign in "\t\n\r")
