"""Settings: frozen dataclasses whose annotations say what is allowed, wherever the values come from.

    rate: Positive = 4e-3                                a field, with its bounds
    __post_init__ = checked                              refuses a wrong value, also from Python
    settings_from(Recipe, values, "a recipe")            from TOML or JSON that was read
    with_changes(recipe, ["optimizer.rate=0.002"])       from --set; the last part of a name is enough if it is unique

msgspec does the checking; this file turns its findings into sentences with the name, the value and what is allowed.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from polyseme.errors import ConfigError, quoted, reason_of

T = TypeVar("T")
Keys = tuple[str, ...]

Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
NotNegative = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
Share = Annotated[float, Meta(ge=0, lt=1)]  #: a dropout rate, the decay of a moving average

_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a section",
    "null": "none",
}
_BOUNDS = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}


def checked(settings: Any) -> None:
    """A ``__post_init__``: ConfigError for the first field whose value its annotation does not allow."""
    for name, hint in _hints(type(settings)).items():
        _converted(getattr(settings, name), hint, name)


def settings_from(kind: type[T], values: Any, what: str) -> T:
    """Names and values → settings; ``what`` says in errors what these are settings of."""
    _refuse_unknown(kind, values, what)
    found: T = _converted(values, kind, "", what)
    return found


def with_values(settings: T, values: Mapping[str, Any], what: str) -> T:
    """The same settings with some values changed, by nested or dotted names; the last value for a name counts."""
    wanted = {_find(settings, keys, what): value for keys, value in _leaves(values, settings)}
    return _rebuilt(settings, wanted)


def with_changes(settings: T, changes: Sequence[str], what: str = "this") -> T:
    """The same settings after ``key=value`` changes, as ``--set`` takes them."""
    return with_values(settings, read_changes(settings, changes, what), what)


def read_changes(settings: Any, changes: Sequence[str], what: str) -> dict[str, Any]:
    """``key=value`` changes → values by dotted name; values are as in TOML, and a bare word is text, or none."""
    found = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise ConfigError(f"--set takes key=value, for example seed=1, but got {change!r}")
        keys = _find(settings, tuple(key.strip().split(".")), what)
        found[".".join(keys)] = _read_value(text.strip(), _hint(settings, keys), ".".join(keys))
    return found


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of the settings, for editors and other programs; it refuses unknown names too."""
    schema: dict[str, Any] = msgspec.json.schema(kind)
    for described in schema.get("$defs", {}).values():
        if described.get("type") == "object":
            described["additionalProperties"] = False
    return schema


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The values of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{what} {path} cannot be read: {reason_of(error)}") from None
    except RecursionError:
        raise ConfigError(f"{what} {path} is nested too deeply for a file of settings") from None
    except ValueError as error:  # also raised for a number with thousands of digits
        raise ConfigError(f"{what} {path} is not valid TOML: {error}") from None


def _converted(value: Any, hint: Any, where: str, what: str = "") -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as problem:
        raise ConfigError(_sentence(str(problem), value, hint, where, what)) from None
    except UnicodeEncodeError:
        raise ConfigError(f"a name or a text in {where or what or 'the settings'} holds half a character") from None


def _sentence(problem: str, value: Any, hint: Any, where: str, what: str) -> str:
    """What msgspec found, as a sentence with the name and the value."""
    fact, _, path = problem.partition(" - at `$")
    path, unnamed, _ = path.partition("[...]")  # msgspec does not say which key of a mapping it is
    for key in re.findall(r"\w+", path):
        where, hint = f"{where}.{key}".lstrip("."), _inner(hint, key)
        value = value[int(key)] if key.isdecimal() else value[key]
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", fact):
        return f"{where or what} lacks {missing[1]!r}, which has no default"
    if unnamed:
        return f"a value in {where or what} should be {_allowed(fact, hint)}"
    return f"{where or what} is {quoted(value)}, but should be {_allowed(fact, hint)}"


def _allowed(fact: str, hint: Any) -> str:
    if fact.startswith("Invalid enum value"):
        choices = [*map(repr, _choices(hint)), *(["none"] if type(None) in _members(hint) else [])]
        return f"one of {', '.join(choices)}" if len(choices) > 2 else " or ".join(choices)
    found = re.match(r"Expected `([^`]+)`(?: (>=|>|<=|<) ([\w.+]+))?(?: of length (\d+))?", fact)
    if found is None:
        return fact
    kinds, operator, bound, length = found.groups()
    allowed = " or ".join(_NAMES.get(kind, kind) for kind in kinds.split(" | "))
    if operator:
        allowed += " that is finite" if float(bound) == sys.float_info.max else f" {_BOUNDS[operator]} {float(bound):g}"
    return f"{allowed} of {length} values" if length else allowed


def _refuse_unknown(hint: Any, values: Any, what: str, before: str = "") -> None:
    """msgspec ignores names that a dataclass does not have, but a user's misspelt name must be refused."""
    if is_dataclass(hint) and isinstance(values, Mapping):
        hints = _hints(hint)
        for name, value in values.items():
            if name not in hints:
                raise _no_such(f"{before}{name}", [before + known for known in hints], what)
            _refuse_unknown(hints[name], value, what, f"{before}{name}.")
    elif isinstance(values, Mapping | list | tuple):
        inside = values.values() if isinstance(values, Mapping) else values
        for inner in get_args(hint) if get_origin(hint) is not Literal else ():
            is_list = get_origin(hint) in (tuple, list, Mapping, dict)
            for value in inside if is_list else [values]:
                _refuse_unknown(inner, value, what, before)


def _no_such(name: str, known: Sequence[str], what: str) -> ConfigError:
    by_ending = {one.rpartition(".")[2]: one for one in known}  # "epoch" is near training.epochs
    near = difflib.get_close_matches(name, [*known, *by_ending], n=1, cutoff=0.75)
    meant = f"did you mean {by_ending.get(near[0], near[0])!r}? " if near else ""
    return ConfigError(f"{what} has no {name!r}; {meant}it has: {', '.join(known)}")


def _find(settings: Any, keys: Keys, what: str) -> Keys:
    """The full path of a name, which is given in full or by a unique ending."""
    known = list(_names(settings))
    ending = [keys] if keys in known else [one for one in known if one[-len(keys) :] == keys]
    if len(ending) > 1:
        raise ConfigError(f"{'.'.join(keys)!r} could be {' or '.join(map('.'.join, ending))}; give the full name")
    if not ending:
        raise _no_such(".".join(keys), list(map(".".join, known)), what)
    return ending[0]


def _read_value(text: str, hint: Any, where: str) -> Any:
    """The value as TOML, or the text itself if the field takes text: layers=1, name=adamw."""
    members = _members(hint)
    if text in ("none", "null") and type(None) in members:
        return None
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if str in members and not isinstance(value, str):
        value = text
    return _converted(value, hint, where)


def _rebuilt(settings: T, wanted: Mapping[Keys, Any], at: Keys = ()) -> T:
    """Make all changes at once: together they may be allowed where one alone is not."""
    parts = {}
    for name, hint in _hints(type(settings)).items():
        keys, held = (*at, name), getattr(settings, name)
        if keys in wanted:
            parts[name] = _converted(wanted[keys], hint, ".".join(keys))
        elif is_dataclass(held):
            parts[name] = _rebuilt(held, wanted, keys)
    return replace(settings, **parts)  # type: ignore[type-var]  # settings are dataclasses


def _names(settings: Any, at: Keys = ()) -> Iterator[Keys]:
    for field in fields(settings):
        held = getattr(settings, field.name)
        yield from _names(held, (*at, field.name)) if is_dataclass(held) else [(*at, field.name)]


def _leaves(values: Mapping[str, Any], settings: Any, at: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    for name, value in values.items():
        held = getattr(settings, name, None)
        if is_dataclass(held) and isinstance(value, Mapping):
            yield from _leaves(value, held, (*at, name))
        else:
            yield (*at, *name.split(".")), value


def _hint(settings: Any, keys: Keys) -> Any:
    for key in keys[:-1]:
        settings = getattr(settings, key)
    return _hints(type(settings))[keys[-1]]


def _inner(hint: Any, key: str) -> Any:
    """The annotation of the value under a key; for an element of a list, the list's."""
    inner: Any = next(filter(is_dataclass, _members(hint)), None)
    return hint if inner is None else _hints(inner).get(key)


def _hints(kind: Any) -> dict[str, Any]:
    """The annotations of a dataclass's fields, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _members(hint: Any) -> list[Any]:
    """An annotation and, recursively, its members: int | None → itself, int and None."""
    inside = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    return [hint, *(one for inner in inside for one in _members(inner))] if get_origin(hint) is not Literal else [hint]


def _choices(hint: Any) -> list[Any]:
    return [one for member in _members(hint) if get_origin(member) is Literal for one in get_args(member)]
