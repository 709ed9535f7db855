"""Natural language inference data: pairs of sentences, and whether the second follows from the first.

    {"gold_label": "neutral", "sentence1": "…", "sentence2": "…", …}       the official JSONL
    gold_label⇥…⇥sentence1⇥sentence2⇥…                                     the official text file, with its header
    neutral⇥premise⇥hypothesis                                             three columns

The first line of a file shows which of the three it is. The label "-" means that the annotators did not agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading

LABELS = ("entailment", "neutral", "contradiction")
NO_AGREEMENT = "-"


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A premise, a hypothesis, and the annotators' label, if they agree."""

    premise: str
    hypothesis: str
    label: str | None  # one of LABELS


def read_snli(path: str | Path, reading: FileReading | None = None) -> list[SentencePair]:
    """All pairs of a file."""
    source = str(path)
    pairs = list(_read((reading or FileReading()).lines(path), source))
    if not pairs:
        raise InputError(f"{source} has no pair; expected SNLI's JSONL or label, tab, premise, tab, hypothesis")
    return pairs


def _read(lines: Iterator[tuple[int, str]], source: str) -> Iterator[SentencePair]:
    columns: tuple[int, ...] = (0, 1, 2)
    width = 3
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        if line.startswith("{"):
            yield _from_json(line, place)
            continue
        cells = line.split("\t")
        if number == 1 and "gold_label" in cells:
            columns, width = _official_columns(cells, place), len(cells)
            continue
        if len(cells) != width:
            raise InputError(f"{place} has {len(cells)} columns where {width} were expected: {line[:40]!r}")
        label, premise, hypothesis = (cells[column] for column in columns)
        yield _checked(label, premise, hypothesis, place)


def _from_json(line: str, place: str) -> SentencePair:
    try:
        record = json.loads(line)
        label, premise, hypothesis = (record[name] for name in ("gold_label", "sentence1", "sentence2"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON ({error}); expected one pair per line") from None
    except KeyError as missing:
        raise InputError(f"{place} has no field {missing}; expected gold_label, sentence1 and sentence2") from None
    if not all(isinstance(value, str) for value in (label, premise, hypothesis)):
        raise InputError(f"{place}: gold_label, sentence1 and sentence2 should be text")
    return _checked(label, premise, hypothesis, place)


def _official_columns(header: list[str], place: str) -> tuple[int, ...]:
    try:
        return tuple(header.index(name) for name in ("gold_label", "sentence1", "sentence2"))
    except ValueError:
        raise InputError(f"{place} should be a header with the columns gold_label, sentence1 and sentence2") from None


def _checked(label: str, premise: str, hypothesis: str, place: str) -> SentencePair:
    if label not in (*LABELS, NO_AGREEMENT):
        raise InputError(f"{place} has the label {label!r} where one of {', '.join(LABELS)} or '-' was expected")
    if not premise.strip() or not hypothesis.strip():
        raise InputError(f"{place} has an empty {'hypothesis' if premise.strip() else 'premise'}")
    return SentencePair(premise.strip(), hypothesis.strip(), None if label == NO_AGREEMENT else label)
