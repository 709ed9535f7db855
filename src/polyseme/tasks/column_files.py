"""Sentences of a file with one token a line: blocks of lines between empty ones, and the column of their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError
from polyseme.tasks.reading import FileReading

Table = Sequence[Sequence[Sequence[str]]]  # sentences, their rows, the cells of a row

_NUMBER = re.compile(r"[0-9]+(?:[-.][0-9]+)?")  # of a word, of several ("2-3"), or of none ("2.1")


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one sentence, and what stands before it (empty lines, comments), all as they are in the file."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    number: int  # of the first line of the sentence, from 1

    def place(self, source: str, row: int) -> str:
        """ "train.props, line 12" for a row of this sentence."""
        return f"{source}, line {self.number + row}"


def read_blocks(
    path: str | Path, is_comment: Callable[[str], bool], reading: FileReading | None = None
) -> Iterator[Block]:
    """All sentences; a last block without lines holds what stands behind the last one.

    A sentence of which a line is skipped is left out as a whole: without one of its words it is another sentence.
    """
    before, lines, start = list[str](), list[str](), 0
    skipped, known = list[int](), 0  # lines that were skipped, and how many of them before this sentence
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
    """The columns of a line: between tabs if it has any, else between spaces, but not at a no-break space in a word."""
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def word_column(table: Table, columns: Iterable[int]) -> int | None:
    """The first of these columns that can hold the words; None where all are numbers.

    What names a document or sentence is the same throughout each sentence, words are not. Capitals alone are tags where
    another column has small letters, or letters without case, and more different values.
    """
    values = {column: {row[column] for rows in table for row in rows} for column in columns}
    written = [column for column, found in values.items() if not all(map(_NUMBER.fullmatch, found))]
    varied = [column for column in written if not _names_sentences(table, column)] or written
    text = [column for column in varied if not all(map(_is_capitals, values[column]))]
    most = max((len(values[column]) for column in text), default=0)
    return next((column for column in varied if column in text or len(values[column]) >= most), None)


def _names_sentences(table: Table, column: int) -> bool:
    """Whether several sentences of two words or more have one value each; a single one may be "No no"."""
    longer = [rows for rows in table if len(rows) > 1]
    return len(longer) > 1 and all(row[column] == rows[0][column] for rows in longer for row in rows)


def _is_capitals(cell: str) -> bool:
    return cell.isascii() and cell == cell.upper()


def words_of(block: Block, rows: Sequence[Sequence[str]], column: int, source: str) -> tuple[str, ...]:
    """The words of a sentence; InputError with the line of one that is empty."""
    for number, row in enumerate(rows):
        if not row[column]:
            raise InputError(f"{block.place(source, number)} has an empty word in column {column + 1}")
    return tuple(row[column] for row in rows)
