"""How files of data are read: how raw text is split, which language it is, and what is forgiven.

A ``FileReading`` is called like the function that splits a text, so a task that needs nothing else takes it for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyseme.text.lines import numbered_lines, open_bytes
from polyseme.text.tokenization import Sentence, split_text

if TYPE_CHECKING:
    from polyseme.tasks.definition import Split

#: Places that a message names; of more it says the number.
MOST_NAMED = 10


@dataclass(frozen=True)
class FileReading:
    """What a task needs to know to read its files."""

    split: Split = split_text
    lang: str = "en"  #: how text is split, by name
    lenient: bool = False  #: tags that break their scheme are read as the CoNLL scorer reads them, not refused
    skip_bad_lines: bool = False  #: lines that are not UTF-8 are left out, not refused
    said: Callable[[str], None] = lambda line: None  #: hears what was forgiven

    def __call__(self, text: str) -> list[Sentence]:
        return self.split(text)

    @classmethod
    def of(cls, split: Split) -> FileReading:
        """The reading that a function stands for: nothing is forgiven."""
        return split if isinstance(split, FileReading) else cls(split)

    def lines(self, path: str | Path, skipped: list[int] | None = None) -> Iterator[tuple[int, str]]:
        """The lines of a file with their numbers from 1; ``skipped`` gets the numbers of those that are left out."""
        source, bad = str(path), [] if skipped is None else skipped
        with open_bytes(source) as stream:
            yield from numbered_lines(stream, source, bad if self.skip_bad_lines else None)
        if bad:
            lines = "1 line that is" if len(bad) == 1 else f"{len(bad):,} lines that are"
            self.said(f"{source}: skipped {lines} not UTF-8: {listed(bad)}")


def listed(numbers: list[int]) -> str:
    """ "12, 57", or the first few and how many more there are."""
    more = len(numbers) - MOST_NAMED
    return ", ".join(map(str, numbers[:MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")
