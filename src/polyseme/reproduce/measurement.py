"""Measurements and a cache of their results: nothing is measured twice with the same model, data and choices.

SHELF/NAME-DIGEST.json    {"settings": all that the result depends on, "result": …, "seconds": …}
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from polyseme.errors import PolysemeError
from polyseme.jobs.manifests import digest, told, write_json
from polyseme.tasks.training import TaskWatch

Result = dict[str, Any]
#: Nested dicts and lists with measurements where their results will be, and plain values.
Tree = Any


@dataclass(frozen=True)
class Measurement:
    """One computation, and all that its result depends on."""

    title: str  #: shown to people, and part of its file name
    settings: Mapping[str, Any]  #: JSON; two measurements with the same settings have the same result
    measure: Callable[[TaskWatch], Result] = field(compare=False)
    group: str  #: measurements of one group share a pace on a machine
    seconds: float  #: expected time on two cores, roughly

    @property
    def digest(self) -> str:
        return digest(self.settings)

    @property
    def file_name(self) -> str:
        return f"{slug(self.title)}-{self.digest[:10]}"


@dataclass(frozen=True, slots=True)
class Missing:
    """Takes the place of a measurement that cannot be made here."""

    reason: str  #: what was looked for

    def to_dict(self) -> Result:
        return {"missing": self.reason}


@dataclass(frozen=True, slots=True)
class Awaited:
    """In the place of a measurement whose settings follow from the results of others."""

    first: Sequence[Measurement]  #: the others
    like: Measurement  #: about as long as the one that is awaited


class Shelf:
    """The results in a folder. A failed measurement is not stored, so it is tried again next time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failures: dict[str, str] = {}  # in this session: digest → message

    def record(self, measurement: Measurement) -> Result | None:
        """The stored record of a measurement, or None; a damaged file counts as missing."""
        try:
            found = json.loads(self._path(measurement).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if _is_record(found) and found["settings"] == told(measurement.settings) else None

    def take(self, measurement: Measurement, watch: TaskWatch) -> Result:
        """The stored result of a measurement, which is measured now if there is none."""
        if (record := self.record(measurement)) is None:
            began = time.monotonic()
            result = measurement.measure(watch)
            seconds = result.get("seconds", round(time.monotonic() - began, 1))  # including earlier sessions, if known
            record = {"settings": told(measurement.settings), "result": result, "seconds": seconds}
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self._path(measurement), record)
        taken: Result = record["result"]
        return taken

    def try_to_take(self, measurement: Measurement, watch: TaskWatch) -> str | None:
        """The same, but returns None, or a message that says why it could not be measured."""
        try:
            self.take(measurement, watch)
        except PolysemeError as error:
            self.failures[measurement.digest] = str(error)
            return str(error)
        return None

    def filled(self, tree: Tree) -> Any:
        """The tree with results in place of measurements, None if there is no result yet."""
        if isinstance(tree, Measurement):
            if tree.digest in self.failures:
                return {"failed": self.failures[tree.digest]}
            record = self.record(tree)
            return None if record is None else record["result"]
        if isinstance(tree, Missing):
            return tree.to_dict()
        if isinstance(tree, Awaited):
            return None
        if isinstance(tree, Mapping):
            return {name: self.filled(branch) for name, branch in tree.items()}
        return [self.filled(branch) for branch in tree] if isinstance(tree, list) else tree

    def _path(self, measurement: Measurement) -> Path:
        return self.folder / f"{measurement.file_name}.json"


def leaves(tree: Tree) -> Iterator[Measurement | Missing | Awaited]:
    """What a tree wants measured now and later, and what it cannot have, in order."""
    if isinstance(tree, Measurement | Missing):
        yield tree
    elif isinstance(tree, Awaited):
        yield from tree.first
        yield tree
    elif isinstance(tree, Mapping | list):
        for branch in tree.values() if isinstance(tree, Mapping) else tree:
            yield from leaves(branch)


def slug(title: str) -> str:
    """ "ner, ELMo at the input" → "ner-elmo-at-the-input" """
    return re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-")


def _is_record(found: Any) -> TypeGuard[Result]:
    """Whether it has the form that `take` writes."""
    if not isinstance(found, dict) or not {"settings", "result", "seconds"} <= found.keys():
        return False
    return isinstance(found["result"], dict) and isinstance(found["seconds"], int | float)
