"""reproduction.json: all figures of a report, what they belong to, and what was asked for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError

RESULTS = "reproduction.json"
VERSION = 1

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The choices of earlier sittings that a report keeps until others are given."""

    questions: tuple[str, ...] = ()  #: of Table 4
    cove: str | None = None  #: digest of CoVe's weights

    @classmethod
    def before(cls, folder: Path) -> Asked:
        """What the report in a folder was made with; nothing where there is none."""
        path = folder / RESULTS
        if not path.exists():
            return cls()
        found = read_results(path)
        questions, cove = found.get("questions", []), found.get("cove")
        if not isinstance(questions, list) or not all(isinstance(one, str) for one in questions):
            raise InputError(f"{path} is damaged: its questions are not a list of sentences; delete it")
        return cls(tuple(questions), cove)


def read_results(path: Path) -> dict[str, Any]:
    """What `write_report` wrote."""
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = results["version"]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} holds no results of polyseme reproduce") from None
    if version != VERSION:
        raise InputError(f"{path} was written by another version ({version}); this one reads {VERSION}")
    return results


def belongings(results: Results) -> dict[str, Any]:
    """What tells reports apart: figures that differ in one of these never stand in one.

    Raises InputError where results do not say it.
    """
    try:
        model = results["model"]
        return {
            "model": f"{model['name']} {model['fingerprint']}",
            "budget": results["budget"],
            "static vectors": results.get("static_sha256") or results["static"],
        }
    except (KeyError, TypeError):
        raise InputError("it does not say which model, budget and static vectors its figures belong to") from None
