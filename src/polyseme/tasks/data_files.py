"""A folder of data → its train, dev and test files, by their names; compressed ones are read in place.

A ``FileReading`` says how they are read: how raw text is split, which language it is, and what is forgiven. It is
called like the function that splits a text, so a task that needs nothing else takes it for one.
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

#: Words in a file's name, by split; CoNLL-2003 calls its dev file testa.
SPLITS = {
    "train": ("train", "training"),
    "dev": ("dev", "development", "valid", "validation", "val", "testa"),
    "test": ("test", "testb"),
}
#: Places that a message names; of more it says the number.
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class DataFiles:
    """What a task is trained on, looked at while training, and tested on at the end."""

    train: Path
    dev: Path
    test: Path | None = None  #: also None where there are several, as in CoNLL-2005: which one is for its user to say


def find_data(folder: Path, suffixes: tuple[str, ...] = ()) -> DataFiles:
    """The files of a folder; of several for one split, the one whose suffix stands first in ``suffixes``."""
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
    """The files of a split; where suffixes are known, only those with the first suffix that is there."""
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
