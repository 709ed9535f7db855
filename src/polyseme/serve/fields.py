"""The fields of a request, read one by one: each has the type that is asked for, or the request is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import orjson

from polyseme.serve.limits import Refusal

_NAMES: dict[type, str] = {dict: "an object", list: "a list"}


class Fields:
    """A JSON object. Every field is taken once; ``end`` refuses what nobody took."""

    def __init__(self, body: bytes) -> None:
        try:
            found = orjson.loads(body)  # strict, and refuses what is nested over 1024 levels without recursion of ours
        except orjson.JSONDecodeError as error:
            raise Refusal(
                400, f"the body should be JSON in UTF-8, but is not: {str(error).partition(':')[0]}"
            ) from None
        if not isinstance(found, dict):
            raise Refusal(422, f"the body should be a JSON object with named fields, but is {_kind(found)}")
        self._fields: dict[str, object] = found
        self._known: list[str] = []

    def has(self, name: str) -> bool:
        self._known.append(name)
        return name in self._fields

    def text(self, name: str, default: str | None = None) -> str:
        value = self._take(name, default)
        if not isinstance(value, str):
            raise _wrong(name, "a string", value)
        return value

    def texts(self, name: str, limit: int) -> list[str]:
        return [_string(f"{name}[{number}]", one) for number, one in enumerate(self._list(name, limit, "texts"))]

    def text_or_texts(self, name: str, limit: int) -> list[str]:
        """A string is a list of one."""
        value = self._fields.get(name)
        if isinstance(value, str):
            return [self.text(name)]
        return self.texts(name, limit)

    def sentences(self, name: str, limit: int) -> list[list[str]]:
        """Lists of tokens."""
        return [_tokens(f"{name}[{number}]", one) for number, one in enumerate(self._list(name, limit, "sentences"))]

    def tokens(self, name: str) -> list[str]:
        return _tokens(name, self._take(name, None))

    def number(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _wrong(name, f"a whole number from {low} to {high}", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise _wrong(name, "true or false", value)
        return value

    def choice(self, name: str, choices: Sequence[str | int], default: str | int) -> str | int:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, str | int) or value not in choices:
            raise _wrong(name, "one of " + ", ".join(map(_shown, choices)), value)
        return value

    def weights(self, name: str, count: int) -> tuple[float, ...] | None:
        """As many finite numbers as there are layers; None where the field is missing."""
        value = self._take(name, None, optional=True)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count or not all(map(_is_weight, value)):
            raise _wrong(name, f"a list of {count} numbers, one for each layer", value)
        return tuple(map(float, value))

    def end(self) -> None:
        """To be called when every field was asked for."""
        if unknown := sorted(self._fields.keys() - set(self._known)):
            raise Refusal(
                422, f"there is no field {_shown(unknown[0])}; there are: {', '.join(dict.fromkeys(self._known))}"
            )

    def _take(self, name: str, default: object, *, optional: bool = False) -> object:
        self._known.append(name)
        value = self._fields.get(name, default)
        if value is None and not optional and name not in self._fields:
            raise Refusal(422, f"the field {name!r} is missing")
        return value

    def _list(self, name: str, limit: int, what: str) -> list[object]:
        value = self._take(name, None)
        if not isinstance(value, list) or not value:
            raise _wrong(name, f"a list of {what}", value)
        if len(value) > limit:
            raise Refusal(413, f"a request may have {limit} {what}, but this one has {len(value)}; send it in parts")
        return value


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)
    return value


def _tokens(name: str, value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise _wrong(name, "a list of tokens", value)
    return [_string(f"{name}[{number}]", token) for number, token in enumerate(value)]


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e6


def _wrong(name: str, expected: str, found: object) -> Refusal:
    return Refusal(422, f"the field {name!r} should be {expected}, but is {_kind(found)}")


def _kind(value: object) -> str:
    if isinstance(value, list) and not value:
        return "an empty list"
    return _NAMES.get(type(value)) or _shown(value)


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else text[:40] + "…"
