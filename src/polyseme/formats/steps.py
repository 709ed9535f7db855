"""The steps between an array of a file and a parameter of ours, each with its way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyseme.bilm_config import FORGET_BIAS
from polyseme.formats.arrays import Floats
from polyseme.formats.shapes import Shape


class Step:
    """A change of an array that can be undone; here, none. ``loaded`` and ``saved`` say what becomes of a shape."""

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
    """The file has an axis of size 1 in front."""

    def load(self, x: Floats) -> Floats:
        return x.reshape(x.shape[1:])

    def save(self, x: Floats) -> Floats:
        return x[None]

    def loaded(self, shape: Shape) -> Shape:
        return shape[1:]

    def saved(self, shape: Shape) -> Shape:
        return (1, *shape)


class WithoutPaddingRow(Step):
    """The file's table begins with what is our row 1; our row 0, padding, is zero."""

    def load(self, x: Floats) -> Floats:
        return np.concatenate([np.zeros_like(x[:1]), x])

    def save(self, x: Floats) -> Floats:
        return x[1:]

    def loaded(self, shape: Shape) -> Shape:
        return (shape[0] + 1, *shape[1:])

    def saved(self, shape: Shape) -> Shape:
        return (shape[0] - 1, *shape[1:])


class WithPaddingRow(Step):
    """The file's table has a row 0 for padding, whose values no result depends on; ours is zero."""

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
    """The file's bias holds the forget gate's constant; ours does not (the network adds it). Gates in our order."""

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
