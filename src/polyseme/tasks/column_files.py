"""Sentences of a file with one token a line: blocks of lines between empty ones, each line with its number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polyseme.text.compression import open_bytes
from polyseme.text.lines import read_lines


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one sentence, and what stands before it (empty lines, comments), all as they are in the file."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    number: int  # of the first line of the sentence, from 1

    def place(self, source: str, row: int) -> str:
        """ "train.props, line 12" for a row of this sentence."""
        return f"{source}, line {self.number + row}"


def read_blocks(path: str | Path, is_comment: Callable[[str], bool]) -> Iterator[Block]:
    """All sentences; a last block without lines holds what stands behind the last one."""
    source = str(path)
    before, lines, start = list[str](), list[str](), 0
    with open_bytes(source) as stream:
        for number, line in enumerate(read_lines(stream, source), start=1):
            if line.strip() and not is_comment(line):
                start = number if not lines else start
                lines.append(line)
                continue
            if lines:
                yield Block(tuple(before), tuple(lines), start)
                before, lines = [], []
            before.append(line)
    if lines:
        yield Block(tuple(before), tuple(lines), start)
        before = []
    if before:
        yield Block(tuple(before), (), 0)


def cells(line: str) -> list[str]:
    """The columns of a line: between tabs if it has any, else between spaces."""
    return line.split("\t") if "\t" in line else line.split()
