"""A folder of data → its train, dev and test files, found by name; compressed files are read in place.

A ``FileReading`` says how they are read: how raw text is split, in which language, and which errors are forgiven. It
can be called like a function that splits a text, so a task that needs nothing else can use it as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyseme.errors import InputError
from polyseme.text.lines import numbered_lines, open_bytes, without_compression
from polyseme.text.tokenization import Sentence, split_text

if TYPE_CHECKING:
    from polyseme.tasks.definition import Split

#: Words in file names, by split; CoNLL-2003 calls its dev file testa.
SPLITS = {
    "train": ("train", "training"),
    "dev": ("dev", "development", "valid", "validation", "val", "testa"),
    "test": ("test", "testb"),
}
#: Line numbers that a message lists; the others are only counted.
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The files that a task is trained on, validated on, and tested on at the end."""

    train: Path
    dev: Path
    test: Path | None = None  #: also None if there are several, as in CoNLL-2005: the user has to choose one


def find_data(folder: Path, suffixes: tuple[str, ...] = ()) -> DataFiles:
    """The files in a folder; if a split has several, the one whose suffix comes first in ``suffixes``."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder that holds the train, dev and test files")
    train, dev = (_only(_found(folder, split, suffixes), folder, split) for split in ("train", "dev"))
    if train is None or dev is None:
        missing = "train" if train is None else "dev"
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        kinds = f" ending in {' or '.join(suffixes)}" if suffixes else ""
        raise InputError(f"{folder} has no file with {missing!r} in its name{kinds}; found: {there}")
    tests = _found(folder, "test", suffixes)
    return DataFiles(train, dev, tests[0] if len(tests) == 1 else None)


def _found(folder: Path, split: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a split; if suffixes are given, only those with the first suffix that any file has."""
    found = sorted(path for path in folder.iterdir() if split_of(path.name) == split)
    if not suffixes:
        return found
    by_suffix = ([p for p in found if without_compression(p.name).lower().endswith(suffix)] for suffix in suffixes)
    return next(filter(None, by_suffix), [])


def split_of(name: str) -> str | None:
    """ "en_ewt-ud-train.conllu.xz" → "train"; the last word that names a split decides."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((split for word in reversed(words) for split, names in SPLITS.items() if word in names), None)


def _only(paths: list[Path], folder: Path, split: str) -> Path | None:
    if len(paths) > 1:
        names = ", ".join(path.name for path in paths)
        raise InputError(f"{folder} has several files for {split}: {names}; keep one, or name both: --train and --dev")
    return paths[0] if paths else None


@dataclass(frozen=True)
class FileReading:
    """How a task reads its files."""

    split: Split = split_text
    lang: str = "en"  #: how text is split, by name
    lenient: bool = False  #: read tags that break their scheme as the CoNLL scorer does, instead of refusing them
    skip_bad_lines: bool = False  #: leave out lines that are not UTF-8, instead of refusing them
    said: Callable[[str], None] = lambda line: None  #: called with a sentence about what was forgiven

    def __call__(self, text: str) -> list[Sentence]:
        return self.split(text)

    @classmethod
    def of(cls, split: Split) -> FileReading:
        """The reading for a split function: a ``FileReading`` itself, or a strict one."""
        return split if isinstance(split, FileReading) else cls(split)

    def lines(self, path: str | Path, skipped: list[int] | None = None) -> Iterator[tuple[int, str]]:
        """The lines of a file with their numbers from 1; the numbers of skipped lines are added to ``skipped``."""
        source, bad = str(path), [] if skipped is None else skipped
        with open_bytes(source) as stream:
            yield from numbered_lines(stream, source, bad if self.skip_bad_lines else None)
        if bad:
            lines = "1 line that is" if len(bad) == 1 else f"{len(bad):,} lines that are"
            self.said(f"{source}: skipped {lines} not UTF-8: {listed(bad)}")


def listed(numbers: list[int]) -> str:
    """ "12, 57", or the first few and the number of the others."""
    more = len(numbers) - MOST_NAMED
    return ", ".join(map(str, numbers[:MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")
