"""Every shape and switch of a biLM, checked once, on creation, for values that do not fit together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal, get_args

from polyseme.errors import ConfigError

Activation = Literal["relu", "tanh"]

#: Added to the forget gate; the released files store the bias without it.
FORGET_BIAS = 1.0


@dataclass(frozen=True, slots=True)
class CharacterConfig:
    """The character CNN of the token encoder."""

    alphabet: int  #: rows of the character table, not counting row 0 (padding)
    dim: int = 16  #: size of a character vector
    max_characters: int = 50  #: ids in a token's row: begin-of-word, characters, end-of-word, padding
    filters: tuple[tuple[int, int], ...] = (
        (1, 32),
        (2, 32),
        (3, 64),
        (4, 128),
        (5, 256),
        (6, 512),
        (7, 1024),
    )
    highways: int = 2
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        _whole(self, 1, "alphabet", "dim")
        _whole(self, 3, "max_characters")  # begin of word, one character, end of word
        _whole(self, 0, "highways")
        object.__setattr__(self, "filters", _filters(self.filters, self.max_characters))
        if self.activation not in get_args(Activation):
            raise ConfigError(f"activation is {self.activation!r}, but only 'relu' and 'tanh' exist")

    @property
    def filter_count(self) -> int:
        """F: all filters together, the size of the CNN's output."""
        return sum(count for _, count in self.filters)


@dataclass(frozen=True, slots=True)
class WordConfig:
    """A table of word vectors as (part of) the token encoder's input."""

    size: int  #: rows of the table, not counting row 0 (padding)
    dim: int

    def __post_init__(self) -> None:
        _whole(self, 1, "size", "dim")


@dataclass(frozen=True, slots=True)
class BiLMConfig:
    """A biLM: what a token is made of, and the LSTM layers above it.

    >>> BiLMConfig(characters=CharacterConfig(alphabet=261), cell=1024, projection=128, layers=2).width
    256
    """

    characters: CharacterConfig | None = None
    words: WordConfig | None = None
    cell: int = 4096  #: H
    projection: int = 512  #: D; equal to the cell size if the LSTM has no projection
    layers: int = 2  #: L
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0  #: ignored without a projection, as in the original
    skip_connections: bool = True
    project_tokens: bool = True  #: a linear map from the token encoder's output to D
    bidirectional: bool = True

    def __post_init__(self) -> None:
        _whole(self, 1, "cell", "projection", "layers")
        _part(self, "characters", CharacterConfig)
        _part(self, "words", WordConfig)
        _clip(self, "cell_clip", "projection_clip")
        _flag(self, "skip_connections", "project_tokens", "bidirectional")
        if self.characters is None and self.words is None:
            raise ConfigError("the model has neither characters nor words as input; give at least one of them")
        if self.projection > self.cell:
            raise ConfigError(
                f"projection {self.projection} is larger than cell {self.cell}; it must be smaller, or equal for none"
            )
        if not self.project_tokens and self.encoded_size != self.projection:
            raise ConfigError(
                f"the token encoder gives {self.encoded_size} values and the LSTM takes {self.projection}: "
                "without project_tokens these must be equal"
            )

    @property
    def encoded_size(self) -> int:
        """Size of a token before the projection to D: its word vector and its filters, whichever exist."""
        words = self.words.dim if self.words else 0
        filters = self.characters.filter_count if self.characters else 0
        return words + filters

    @property
    def row_size(self) -> int:
        """K: ids in the row of one token: its word id, then its character ids, whichever exist."""
        return (1 if self.words else 0) + (self.characters.max_characters if self.characters else 0)

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def width(self) -> int:
        """W: size of a layer."""
        return self.directions * self.projection

    @property
    def has_projection(self) -> bool:
        """Whether the LSTM projects its output; decided by the sizes, as in the original."""
        return self.projection < self.cell

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; ``BiLMConfig.from_dict`` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BiLMConfig:
        """Read what ``to_dict`` wrote; an unknown key or a value of the wrong kind is refused."""
        values = dict(_known(cls, values, "the model"))
        for name, kind in (("characters", CharacterConfig), ("words", WordConfig)):
            if values.get(name) is not None:
                values[name] = kind(**_known(kind, values[name], name))
        return cls(**values)


def _known(kind: Any, values: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise ConfigError(f"the settings of {where} are {values!r}, but should be names and values")
    names = {field.name for field in fields(kind)}
    if unknown := sorted(map(str, set(values) - names)):
        raise ConfigError(f"{where} has no setting {unknown[0]!r}; it has: {', '.join(sorted(names))}")
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise ConfigError(f"the settings of {where} lack {field.name!r}, which has no default")
    return values


def _whole(config: Any, least: int, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if not _is_whole(value) or value < least:
            raise ConfigError(f"{name} is {value!r}, but should be a whole number of at least {least}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _filters(values: Any, longest: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple((width, count) for width, count in values)
    except (TypeError, ValueError):
        raise ConfigError(f"filters is {values!r}, but should be a list of [width, count] pairs") from None
    if not pairs:
        raise ConfigError("filters is empty, but a character CNN needs at least one [width, count] pair")
    for width, count in pairs:
        if not (_is_whole(width) and _is_whole(count) and 1 <= width <= longest and count >= 1):
            raise ConfigError(
                f"the filter [{width!r}, {count!r}] does not fit: "
                f"a width is 1 to {longest} characters, a count at least 1, both whole numbers"
            )
    return pairs


def _part(config: Any, name: str, kind: type) -> None:
    value = getattr(config, name)
    if value is not None and not isinstance(value, kind):
        raise ConfigError(f"{name} is {value!r}, but should be a {kind.__name__}, or None for none")


def _clip(config: Any, *names: str) -> None:
    for name in names:
        clip = getattr(config, name)
        number = isinstance(clip, int | float) and not isinstance(clip, bool)
        if clip is not None and not (number and 0 < clip < math.inf):
            raise ConfigError(f"{name} is {clip!r}, but a clip is a positive number, or null for none")


def _flag(config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, bool):
            raise ConfigError(f"{name} is {value!r}, but should be true or false")
