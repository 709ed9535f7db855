"""Is this the same job, the same model, the same measurement? Its values as canonical JSON, and the digest of that.

A dataclass is told by the fields that differ from their defaults. So a field that a later version adds with a default
changes no identity, and neither does another name of a class; a default that is in use must never change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from polyseme.errors import JobError

MOST_NAMED = 3  # differences in one sentence


def canonical(value: Any) -> bytes:
    """The one way to write these values as JSON: sorted names, no blanks, ASCII, 3.0 as 3."""
    return json.dumps(told(value), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: Any) -> str:
    """sha256 of the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def told(value: Any) -> Any:
    """The same as plain JSON values."""
    if is_dataclass(value):
        return dict(_differing(value))
    if isinstance(value, Mapping):
        return {str(name): told(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [told(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _differing(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        held = getattr(value, field.name)
        if held != _default(field):
            yield field.name, told(held)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def refuse_other(earlier: Any, now: Any, *, what: str, remedy: str, free: Collection[str] = ()) -> None:
    """JobError if two descriptions differ in anything but ``free``; it names what differs, and both values."""
    before, after = dict(_flat(earlier)), dict(_flat(now))
    names = [name for name in {**before, **after} if not any(f"{name}.".startswith(f"{one}.") for one in free)]
    changes = [
        f"{name} was {_shown(before.get(name))} and is {_shown(after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    ]
    if changes:
        more = f"; and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
        raise JobError(f"{what}: {'; '.join(changes[:MOST_NAMED])}{more}; {remedy}")


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value under its dotted name; of files and models in a list, "sha256 of corpus.txt"."""
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and value and all(map(is_dataclass, value)):
        yield name, [one.name for one in value]
        for one in value:
            yield from ((f"{key} of {one.name}", held) for key, held in _flat(one) if key != "name")
    else:
        yield name, told(value)


def _shown(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:24]}…{text[-24:]}"
