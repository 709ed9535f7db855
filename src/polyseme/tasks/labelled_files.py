"""Labelled texts or pairs of texts, with any labels: a table with a header, JSON lines, or a folder for each class.

    label,text                   CSV; TSV the same with tabs         pos/1.txt  neg/1.txt    a folder for each class
    {"label": 1, "text": "…"}    JSON lines                          (texts only)

Columns are recognised by the names that data sets give them (``LABELS``, ``TEXTS``, ``PAIRS``).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.text.lines import without_compression

LABELS = ("label", "gold_label", "class", "category", "sentiment", "topic", "is_duplicate", "target")
TEXTS = ("text", "sentence", "review", "content", "body", "document")
PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text1", "text2"),
)
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", "")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One or two texts, and their label."""

    texts: tuple[str, ...]
    label: str


def read_labelled(path: Path, *, pairs: bool, reading: FileReading | None = None) -> list[Labelled]:
    """All examples of a file or folder; InputError names the line that does not fit."""
    reading = reading or FileReading()
    if path.is_dir():
        found = list(_from_folders(path, pairs, reading))
    else:
        found = [_labelled(record, place, pairs) for place, record in _records(path, reading)]
    if not found:
        raise InputError(f"{path} holds no labelled text")
    return found


def named_texts(record: Mapping[str, Any], *, pairs: bool) -> tuple[str, ...] | None:
    """The texts of a record, under the first known names that it has; None if it has none."""
    choices: Iterable[tuple[str, ...]] = PAIRS if pairs else ((name,) for name in TEXTS)
    names = next((names for names in choices if all(isinstance(record.get(name), str) for name in names)), None)
    return None if names is None else tuple(record[name] for name in names)


def _records(path: Path, reading: FileReading) -> Iterator[tuple[str, Mapping[str, Any]]]:
    suffix = Path(without_compression(path.name)).suffix.lower()
    if suffix not in (".jsonl", ".ndjson"):
        yield from _rows(path, reading, quoted=suffix == ".csv")
        return
    for number, line in reading.lines(path):
        if line.strip():
            yield f"{path}, line {number}", _object(line, f"{path}, line {number}")


def _rows(path: Path, reading: FileReading, *, quoted: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a table; GLUE's tables use tabs, and their quotation marks are plain characters."""
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for last, line in reading.lines(path):  # noqa: B007  # errors name the line where a row ends
            yield f"{line}\n"

    table = csv.DictReader(lines()) if quoted else csv.DictReader(lines(), dialect="excel-tab", quoting=csv.QUOTE_NONE)
    try:
        for row in table:
            yield f"{path}, line {last}", row
    except csv.Error as error:
        raise InputError(f"{path}, line {last} cannot be read ({error})") from None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise InputError(f"{place} should be an object with a label and {TEXTS[0]!r}")
    return found


def _labelled(record: Mapping[str, Any], place: str, pairs: bool) -> Labelled:
    texts = named_texts(record, pairs=pairs)
    label = next((record[name] for name in LABELS if record.get(name) not in (None, "")), None)
    if texts is None or label is None:
        missing = "a label" if texts is not None else "two texts" if pairs else "a text"
        known = " or ".join("+".join(names) for names in PAIRS) if pairs else ", ".join(TEXTS)
        wanted = ", ".join(LABELS) if texts is not None else known
        raise InputError(f"{place} has no {missing.split(' ', 1)[1]}; expected one of the columns {wanted}")
    if not all(text.strip() for text in texts):
        raise InputError(f"{place} has an empty text")
    return Labelled(tuple(text.strip() for text in texts), str(label))


def _from_folders(folder: Path, pairs: bool, reading: FileReading) -> Iterator[Labelled]:
    if pairs:
        raise InputError(f"{folder} is a folder; pairs of texts are in a table or JSON lines")
    for path in sorted(folder.glob("*/*")):
        if path.is_file() and not path.name.startswith("."):
            text = "\n".join(line for _, line in reading.lines(path)).strip()
            if text:
                yield Labelled((text,), path.parent.name)
