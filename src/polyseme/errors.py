"""Every error polyseme raises on purpose.

    PolysemeError              the user can do something about it; the command line prints one sentence
    ├── InputError             text, tokens or a data file that cannot be used
    ├── FormatError            a model on disk that cannot be read, or is not what it says
    │   ├── DownloadError      a release whose files cannot be fetched, or have changed
    │   ├── MissingTensor      an array that the format promises is not there
    │   └── WrongShape         an array is there, with another shape than the options say
    ├── ConfigError            a setting that does not fit: options, a recipe, an argument
    ├── JobError               a long job that cannot start, resume or finish
    ├── PluginError            something that another package adds to polyseme cannot be used
    └── MissingExtra           a feature whose optional packages are not installed

A message says what was expected, what was found and what to do, in one sentence. Inner code states the fact
that it knows; the caller that knows the context (which file, which line) adds it and raises again.
"""

from __future__ import annotations

from typing import Any


class PolysemeError(Exception):
    """Base of all errors that a user can act on."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Worker processes return their errors by pickle, which would call the class with the message alone.
        return _with_facts, (type(self), str(self), vars(self))


class InputError(PolysemeError):
    """Text, tokens or a data file that cannot be used."""


class FormatError(PolysemeError):
    """A model on disk that cannot be read."""


class DownloadError(FormatError):
    """A release whose files cannot be fetched, or have changed."""


class MissingTensor(FormatError):
    """An array that the format promises is not there."""

    def __init__(self, source: str, name: str, found: str) -> None:
        super().__init__(f"{source}: the array {name!r} is missing; {found}")
        self.name = name


class WrongShape(FormatError):
    """An array has another shape than the options promise."""

    def __init__(self, source: str, name: str, expected: tuple[int, ...], found: tuple[int, ...]) -> None:
        super().__init__(f"{source}: the array {name!r} has shape {list(found)} where {list(expected)} was expected")
        self.name, self.expected, self.found = name, expected, found


class ConfigError(PolysemeError):
    """A setting that does not fit."""


class JobError(PolysemeError):
    """A long job that cannot start, resume or finish."""


class PluginError(PolysemeError):
    """What another package adds to polyseme cannot be used."""


class MissingExtra(PolysemeError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs packages that are not installed; run: pip install 'polyseme[{extra}]'")
        self.extra = extra


def quoted(value: object) -> str:
    """A value as a message shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def reason_of(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return (error.strerror or str(error)).lower()


def _with_facts(kind: type[PolysemeError], message: str, facts: dict[str, Any]) -> PolysemeError:
    error = kind.__new__(kind, message)
    vars(error).update(facts)
    return error
