"""How a table of names is applied, in both directions: the same table loads a file and saves it.

A ``Rename`` says: the array ``theirs`` of a file, after ``steps``, is our parameter ``ours``; where it is several of
ours, they stand one below the other. ``{i}`` counts convolutions, ``{k}`` highways, ``{d}`` directions, ``{l}`` layers.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.arrays import ArrayFile
from polyseme.nn.bilm import BiLM
from polyseme.nn.config import BiLMConfig
from polyseme.nn.lstm import FORGET_BIAS

Shape = tuple[int, ...]
DIRECTIONS = ("forward", "backward")
MOST_WORDS, MOST_CHARACTERS, LARGEST_SIZE, MOST_PARTS = 1 << 28, 1 << 21, 1 << 20, 1000


class Step(Protocol):
    """A change of an array that can be undone."""

    def load(self, x: Tensor) -> Tensor: ...
    def save(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class ReverseAxes:
    """[…, b, a] ↔ [a, b, …]; for a matrix, its transpose."""

    def load(self, x: Tensor) -> Tensor:
        return x.permute(*reversed(range(x.ndim)))

    save = load


@dataclass(frozen=True, slots=True)
class LeadingAxis:
    """The file has an axis of size 1 in front."""

    def load(self, x: Tensor) -> Tensor:
        return x[0]

    def save(self, x: Tensor) -> Tensor:
        return x[None]


@dataclass(frozen=True, slots=True)
class WithoutPaddingRow:
    """The file's table begins with what is our row 1; our row 0, padding, is zero."""

    def load(self, x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x[:1]), x])

    def save(self, x: Tensor) -> Tensor:
        return x[1:]


@dataclass(frozen=True, slots=True)
class WithPaddingRow:
    """The file's table has a row 0 for padding, whose values no result depends on; ours is zero."""

    def load(self, x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x[:1]), x[1:]])

    def save(self, x: Tensor) -> Tensor:
        return x


@dataclass(frozen=True, slots=True)
class Gates:
    """The file's four gate blocks along ``axis``: input, forget, output and g, the candidate. Ours are ``ifog``."""

    theirs: str
    axis: int

    def load(self, x: Tensor) -> Tensor:
        return self._pick(x, [self.theirs.index(gate) for gate in "ifog"])

    def save(self, x: Tensor) -> Tensor:
        return self._pick(x, ["ifog".index(gate) for gate in self.theirs])

    def _pick(self, x: Tensor, order: list[int]) -> Tensor:
        blocks = x.chunk(4, dim=self.axis)
        return torch.cat([blocks[number] for number in order], dim=self.axis)


@dataclass(frozen=True, slots=True)
class ForgetBias:
    """The file's bias holds the forget gate's constant; ours does not (the network adds it). Gates in our order."""

    def load(self, x: Tensor) -> Tensor:
        return x - self._constant(x)

    def save(self, x: Tensor) -> Tensor:
        return x + self._constant(x)

    def _constant(self, x: Tensor) -> Tensor:
        return torch.cat([torch.full_like(b, FORGET_BIAS * (n == 1)) for n, b in enumerate(x.chunk(4))])


@dataclass(frozen=True, slots=True)
class NegateLowerHalf:
    """The file's highway gate has the opposite sign: it carries where ours transforms."""

    def load(self, x: Tensor) -> Tensor:
        transform, gate = x.chunk(2)
        return torch.cat([transform, -gate])

    save = load


@dataclass(frozen=True, slots=True)
class Rename:
    """One array of a file, and what it is in our network."""

    theirs: str
    ours: str | tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.ours,) if isinstance(self.ours, str) else self.ours

    def load(self, x: Tensor) -> dict[str, Tensor]:
        """The file's array → our parameters."""
        for step in self.steps:
            x = step.load(x)
        return {name: part.contiguous() for name, part in zip(self.parts, x.chunk(len(self.parts)), strict=True)}

    def save(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Our parameters → the file's array."""
        x = torch.cat([tensors[name] for name in self.parts])
        for step in reversed(self.steps):
            x = step.save(x)
        return x.contiguous()

    def filled(self, **numbers: int | str) -> Rename:
        """The same for one direction, layer, …"""
        return Rename(self.theirs.format(**numbers), tuple(p.format(**numbers) for p in self.parts), self.steps)

    def placeholders(self) -> list[str]:
        return sorted({field for _, field, _, _ in string.Formatter().parse(self.parts[0]) if field})

    def pattern(self) -> re.Pattern[str]:
        """What the names of its arrays look like."""
        text = re.escape(self.theirs)
        for placeholder in string.Formatter().parse(self.theirs):
            values = "|".join(DIRECTIONS) if placeholder[1] == "direction" else r"\d+"
            text = text.replace(re.escape(f"{{{placeholder[1]}}}"), f"(?P<{placeholder[1]}>{values})", 1)
        return re.compile(text)


Table = tuple[Rename, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which a family of files names its arrays."""

    table: Table
    directions: int = 2


def read_tensors(file: ArrayFile, table: Table, config: BiLMConfig) -> dict[str, Tensor]:
    """All parameters of the network, from a file that names them by ``table``; names and shapes are checked first."""
    entries = list(expand(table, config))
    shapes = parameter_shapes(config)
    nothing = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    file.check({entry.theirs: tuple(entry.save(nothing).shape) for entry in entries})
    tensors: dict[str, Tensor] = {}
    for entry in entries:
        tensors.update(entry.load(file.read(entry.theirs)))
    return tensors


def file_arrays(tensors: Mapping[str, Tensor], table: Table, config: BiLMConfig) -> dict[str, Tensor]:
    """What a file that names its arrays by ``table`` holds: the way back."""
    return {entry.theirs: entry.save(tensors) for entry in expand(table, config)}


def expand(table: Table, config: BiLMConfig) -> Iterator[Rename]:
    """The table without placeholders: one entry for each array of this network."""
    shapes = parameter_shapes(config)
    counts = {
        "i": len(config.characters.filters) if config.characters else 0,
        "k": config.characters.highways if config.characters else 0,
        "d": config.directions,
        "l": config.layers,
    }
    left = set(shapes)
    for entry in table:
        keys = entry.placeholders()
        for values in itertools.product(*(range(counts[key]) for key in keys)):
            numbers = dict(zip(keys, values, strict=True))
            filled = entry.filled(**numbers, direction=DIRECTIONS[numbers.get("d", 0)])
            if set(filled.parts) <= left:
                left -= set(filled.parts)
                yield filled
    if left:
        raise FormatError(f"this format has no place for the parameter {min(left)!r} of the model")


def parameter_shapes(config: BiLMConfig) -> dict[str, Shape]:
    """The parameters of the network and their shapes, without taking memory for them."""
    check_plausible(config)
    with torch.device("meta"):
        return {name: tuple(p.shape) for name, p in BiLM(config).named_parameters()}


def check_plausible(config: BiLMConfig) -> None:
    """Refuse sizes that no model has, before anything is made of them."""
    characters, words = config.characters, config.words
    sizes = [("cell", config.cell, LARGEST_SIZE), ("projection", config.projection, LARGEST_SIZE)]
    sizes += [("layers", config.layers, MOST_PARTS)]
    if words:
        sizes += [("words", words.size, MOST_WORDS), ("word dim", words.dim, LARGEST_SIZE)]
    if characters:
        sizes += [
            ("alphabet", characters.alphabet, MOST_CHARACTERS),
            ("character dim", characters.dim, LARGEST_SIZE),
            ("max_characters", characters.max_characters, LARGEST_SIZE),
            ("filters", characters.filter_count, LARGEST_SIZE),
            ("kinds of filters", len(characters.filters), MOST_PARTS),
            ("highways", characters.highways, MOST_PARTS),
        ]
    for name, value, largest in sizes:
        if value > largest:
            raise FormatError(f"the settings say {name} = {value:,}, but no model has more than {largest:,}")


def choose_layout(file: ArrayFile, layouts: Sequence[Layout]) -> Layout:
    """The layout that knows most of the file's arrays; the first of equals."""
    return max(layouts, key=lambda layout: sum(1 for _ in matches(file, layout.table)))


def matches(file: ArrayFile, table: Table) -> Iterator[Rename]:
    """The table without placeholders, for the arrays that the file has."""
    for entry in table:
        pattern = entry.pattern()
        for name in file.arrays:
            if match := pattern.fullmatch(name):
                numbers = match.groupdict()
                if "direction" in numbers:
                    numbers["d"] = str(DIRECTIONS.index(numbers["direction"]))
                yield entry.filled(**{"d": "0", **numbers})


def shapes_by_name(file: ArrayFile, table: Table) -> dict[str, Shape]:
    """Our parameters that the file has, with our shapes; nothing is read for it."""
    found: dict[str, Shape] = {}
    for entry in matches(file, table):
        shape = file.arrays[entry.theirs].shape
        try:
            loaded = entry.load(torch.empty(shape, device="meta"))
        except (RuntimeError, ValueError, IndexError):
            raise FormatError(
                f"{file.name}: the array {entry.theirs!r} has the impossible shape {list(shape)}"
            ) from None
        found |= {name: tuple(x.shape) for name, x in loaded.items()}
    return found
