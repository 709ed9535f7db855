"""JSON settings files: read within bounds, with access to values by name and type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from polyseme.errors import FormatError, quoted

LARGEST_JSON = 16 << 20


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    if path.stat().st_size > LARGEST_JSON:
        raise FormatError(f"{path.name} has {path.stat().st_size:,} bytes, too many for a file of settings")
    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path.name} is not UTF-8 (at byte {error.start}), so it is not JSON") from None
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno}, column {error.colno}"
        raise FormatError(f"{path.name} is not valid JSON: {error.msg} {where}") from None
    except RecursionError:
        raise FormatError(f"{path.name} is nested too deeply for a file of settings") from None
    except ValueError as error:
        raise FormatError(f"{path.name} is not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise FormatError(f"{path.name} holds a {type(values).__name__}, where an object of settings was expected")
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@dataclass(frozen=True, slots=True)
class Settings:
    """Nested settings, read by dotted names: ``settings.whole("lstm.dim")``.

    A null value counts as missing. A missing value without a default, or a value of the wrong type, is refused.
    """

    values: Mapping[str, Any]
    where: str  #: the file's name, for errors

    @classmethod
    def of(cls, path: Path) -> Settings:
        return cls(read_json(path), path.name)

    def has(self, key: str) -> bool:
        return self._find(key) is not None

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        return int(self._get(key, default, lambda value: type(value) is int, "a whole number"))

    def real(self, key: str) -> float:
        """A finite number."""
        return float(self._get(key, None, _is_number, "a number"))

    def real_or_none(self, key: str) -> float | None:
        """A finite number, or None if the setting is missing."""
        return self.real(key) if self.has(key) else None

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of finite numbers."""
        return tuple(map(float, self._get(key, None, _are_numbers, "a list of numbers")))

    def boolean(self, key: str, default: bool | None = None) -> bool:
        return bool(self._get(key, default, lambda value: isinstance(value, bool), "true or false"))

    def text(self, key: str) -> str:
        return str(self._get(key, None, lambda value: isinstance(value, str), "a string"))

    def pairs(self, key: str) -> tuple[tuple[int, int], ...]:
        """A list of pairs of whole numbers."""
        return tuple((first, second) for first, second in self._get(key, None, _are_pairs, "a list of number pairs"))

    def part(self, key: str) -> Settings:
        """The settings inside a setting; empty if it is missing."""
        value = self._get(key, {}, lambda value: isinstance(value, Mapping), "an object of settings")
        return Settings(value, self.where)

    def parts(self, key: str, known: tuple[str, ...]) -> list[Settings]:
        """A list of objects with only the ``known`` settings; empty if it is missing."""
        values = self._get(key, [], lambda value: isinstance(value, list), "a list")
        parts = [Settings({key: value}, self.where).part(key) for value in values]
        for part in parts:
            part.only(*known)
        return parts

    def only(self, *known: str) -> None:
        """Refuse settings with other names."""
        if unknown := sorted(set(self.values) - set(known)):
            raise FormatError(f"{self.where} has an unknown setting {unknown[0]!r}; known are {', '.join(known)}")

    def _get(self, key: str, default: Any, fits: Callable[[Any], bool], kind: str) -> Any:
        value = self._find(key)
        if value is None:
            if default is None:
                raise FormatError(f"{self.where} has no setting {key!r}, which should be {kind}")
            return default
        if not fits(value):
            raise FormatError(f"{self.where}: the setting {key!r} is {quoted(value)}, where {kind} was expected")
        return value

    def _find(self, key: str) -> Any:
        value: Any = self.values
        for part in [key] if key in self.values else key.split("."):
            if not isinstance(value, Mapping):
                raise FormatError(f"{self.where}: {quoted(value)} was found where settings with {part!r} were expected")
            value = value.get(part)
            if value is None:
                return None
        return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # so that an integer fits into a float


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair) for pair in value
    )
