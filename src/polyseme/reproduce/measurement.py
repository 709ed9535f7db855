"""A measurement and its memory: what was measured with the same model, data and choices is not measured again.

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
#: Measurements where their results will stand: dicts and lists of them, with plain values between.
Tree = Any


@dataclass(frozen=True)
class Measurement:
    """One computation, and all that its result depends on."""

    title: str  #: for people, and for the name of its file
    settings: Mapping[str, Any]  #: JSON; two measurements with the same settings have the same result
    measure: Callable[[TaskWatch], Result] = field(compare=False)
    group: str  #: those of one group are slow or quick together
    seconds: float  #: that it should take on two cores, roughly

    @property
    def digest(self) -> str:
        return digest(self.settings)

    @property
    def file_name(self) -> str:
        return f"{slug(self.title)}-{self.digest[:10]}"


@dataclass(frozen=True, slots=True)
class Missing:
    """In the place of a measurement that cannot be made here."""

    reason: str  #: what was looked for

    def to_dict(self) -> Result:
        return {"missing": self.reason}


@dataclass(frozen=True, slots=True)
class Awaited:
    """In the place of a measurement whose settings follow from the results of others."""

    first: Sequence[Measurement]  #: the others
    like: Measurement  #: about as long as the one that is awaited


class Shelf:
    """The results in a folder. A measurement that failed is not kept, so it is tried again the next time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failures: dict[str, str] = {}  # of this sitting: digest → sentence

    def record(self, measurement: Measurement) -> Result | None:
        """What is written of a measurement, or None; a file that was damaged is as if it were not there."""
        try:
            found = json.loads(self._path(measurement).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if _is_record(found) and found["settings"] == told(measurement.settings) else None

    def take(self, measurement: Measurement, watch: TaskWatch) -> Result:
        """The result, measured now if it has not been measured yet."""
        if (record := self.record(measurement)) is None:
            began = time.monotonic()
            result = measurement.measure(watch)
            seconds = result.get("seconds", round(time.monotonic() - began, 1))  # over all sittings, where it is known
            record = {"settings": told(measurement.settings), "result": result, "seconds": seconds}
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self._path(measurement), record)
        taken: Result = record["result"]
        return taken

    def try_to_take(self, measurement: Measurement, watch: TaskWatch) -> str | None:
        """The same; None, or the sentence that says why it could not be measured."""
        try:
            self.take(measurement, watch)
        except PolysemeError as error:
            self.failures[measurement.digest] = str(error)
            return str(error)
        return None

    def filled(self, tree: Tree) -> Any:
        """A tree with results in the place of measurements: None where there is none yet."""
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
    """Whether it is what `take` writes."""
    if not isinstance(found, dict) or not {"settings", "result", "seconds"} <= found.keys():
        return False
    return isinstance(found["result"], dict) and isinstance(found["seconds"], int | float)
