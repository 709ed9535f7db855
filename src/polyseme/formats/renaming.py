"""Applies a table of names in both directions: the same table loads a file and saves it.

A ``Rename`` says: the array ``theirs`` of a file, after ``steps``, is our parameter ``ours``, or several of ours,
stacked. ``{i}`` counts convolutions, ``{k}`` highways, ``{d}`` directions, ``{l}`` layers.
Every step between an array of a file and our parameter can be reversed.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.bilm_config import FORGET_BIAS, BiLMConfig
from polyseme.errors import FormatError
from polyseme.formats.arrays import ArrayFile, Floats, Shape, parameter_shapes

DIRECTIONS = ("forward", "backward")


class Step:
    """A reversible change of an array; this one does nothing. ``loaded`` and ``saved`` apply it to a shape."""

    def load(self, x: Floats) -> Floats:
        """The file's values → ours."""
        return x

    def save(self, x: Floats) -> Floats:
        """Ours → the file's."""
        return x

    def loaded(self, shape: Shape) -> Shape:
        return shape

    def saved(self, shape: Shape) -> Shape:
        return shape


class ReverseAxes(Step):
    """[…, b, a] ↔ [a, b, …]; for a matrix, its transpose."""

    def load(self, x: Floats) -> Floats:
        reversed_axes: Floats = x.T
        return reversed_axes

    def loaded(self, shape: Shape) -> Shape:
        return shape[::-1]

    save, saved = load, loaded


class LeadingAxis(Step):
    """The file's array has a leading axis of size 1."""

    def load(self, x: Floats) -> Floats:
        return x.reshape(x.shape[1:])

    def save(self, x: Floats) -> Floats:
        return x[None]

    def loaded(self, shape: Shape) -> Shape:
        return shape[1:]

    def saved(self, shape: Shape) -> Shape:
        return (1, *shape)


class WithoutPaddingRow(Step):
    """The file's first row is our row 1; our row 0, for padding, is zero."""

    def load(self, x: Floats) -> Floats:
        return np.concatenate([np.zeros_like(x[:1]), x])

    def save(self, x: Floats) -> Floats:
        return x[1:]

    def loaded(self, shape: Shape) -> Shape:
        return (shape[0] + 1, *shape[1:])

    def saved(self, shape: Shape) -> Shape:
        return (shape[0] - 1, *shape[1:])


class WithPaddingRow(Step):
    """The file has a row 0 for padding, on which no result depends; ours is zero."""

    def load(self, x: Floats) -> Floats:
        return np.concatenate([np.zeros_like(x[:1]), x[1:]])


@dataclass(frozen=True)
class Gates(Step):
    """The file's four gate blocks along ``axis``: input, forget, output and g, the candidate. Ours are ``ifog``."""

    theirs: str
    axis: int

    def load(self, x: Floats) -> Floats:
        return self._pick(x, [self.theirs.index(gate) for gate in "ifog"])

    def save(self, x: Floats) -> Floats:
        return self._pick(x, ["ifog".index(gate) for gate in self.theirs])

    def _pick(self, x: Floats, order: list[int]) -> Floats:
        blocks = np.split(x, 4, axis=self.axis)
        return np.concatenate([blocks[number] for number in order], axis=self.axis)


class ForgetBias(Step):
    """The file's bias includes the forget gate's constant; ours does not (the network adds it). Gates in our order."""

    def load(self, x: Floats) -> Floats:
        return x - self._constant(x)

    def save(self, x: Floats) -> Floats:
        return x + self._constant(x)

    def _constant(self, x: Floats) -> Floats:
        return np.concatenate([np.full_like(b, FORGET_BIAS * (n == 1)) for n, b in enumerate(np.split(x, 4))])


class NegateLowerHalf(Step):
    """The file's highway gate has the opposite sign: it carries where ours transforms."""

    def load(self, x: Floats) -> Floats:
        transform, gate = np.split(x, 2)
        return np.concatenate([transform, -gate])

    save = load


@dataclass(frozen=True, slots=True)
class Rename:
    """One array of a file, and its parameters in our network."""

    theirs: str
    ours: str | tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.ours,) if isinstance(self.ours, str) else self.ours

    def load(self, x: Floats) -> dict[str, Floats]:
        """The file's array → our parameters."""
        for step in self.steps:
            x = step.load(x)
        parts = np.split(x, len(self.parts))
        return {name: np.ascontiguousarray(part) for name, part in zip(self.parts, parts, strict=True)}

    def save(self, tensors: Mapping[str, Floats]) -> Floats:
        """Our parameters → the file's array."""
        x = np.concatenate([tensors[name] for name in self.parts])
        for step in reversed(self.steps):
            x = step.save(x)
        return np.ascontiguousarray(x)

    def saved(self, shapes: Mapping[str, Shape]) -> Shape:
        """The shape of the file's array, from ours."""
        first = shapes[self.parts[0]]
        shape = (len(self.parts) * first[0], *first[1:])
        for step in reversed(self.steps):
            shape = step.saved(shape)
        return shape

    def loaded(self, shape: Shape) -> dict[str, Shape]:
        """Our shapes, from that of the file's array."""
        for step in self.steps:
            shape = step.loaded(shape)
        return dict.fromkeys(self.parts, (shape[0] // len(self.parts), *shape[1:]))

    def filled(self, **numbers: int | str) -> Rename:
        """The same for one direction, layer, …"""
        return Rename(self.theirs.format(**numbers), tuple(p.format(**numbers) for p in self.parts), self.steps)

    def placeholders(self) -> list[str]:
        return sorted({field for _, field, _, _ in string.Formatter().parse(self.parts[0]) if field})

    def pattern(self) -> re.Pattern[str]:
        """A pattern for the names of its arrays."""
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


def read_tensors(file: ArrayFile, table: Table, config: BiLMConfig) -> dict[str, Floats]:
    """All parameters of the network, from a file with the names of ``table``; names and shapes are checked first."""
    entries = list(expand(table, config))
    shapes = parameter_shapes(config)
    file.check({entry.theirs: entry.saved(shapes) for entry in entries})
    tensors: dict[str, Floats] = {}
    for entry in entries:
        tensors.update(entry.load(file.read(entry.theirs)))
    return tensors


def file_arrays(tensors: Mapping[str, Floats], table: Table, config: BiLMConfig) -> dict[str, Floats]:
    """The arrays of a file with the names of ``table``, from our tensors."""
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


def choose_layout(file: ArrayFile, layouts: Sequence[Layout]) -> Layout:
    """The layout that matches most of the file's arrays; of equals, the first."""
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
    """Our parameters that the file has, with our shapes, without reading values."""
    found: dict[str, Shape] = {}
    for entry in matches(file, table):
        shape = file.arrays[entry.theirs].shape
        if not shape:
            raise FormatError(
                f"{file.name}: the array {entry.theirs!r} is a single number, but a parameter is an array"
            )
        found |= entry.loaded(shape)
    return found
