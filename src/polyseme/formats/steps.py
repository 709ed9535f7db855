"""The steps between an array of a file and a parameter of ours, each with its way back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.formats.shapes import Shape
from polyseme.nn.lstm import FORGET_BIAS


class Step:
    """A change of an array that can be undone; here, none. ``loaded`` and ``saved`` say what becomes of a shape."""

    def load(self, x: Tensor) -> Tensor:
        """The file's values → ours."""
        return x

    def save(self, x: Tensor) -> Tensor:
        """Ours → the file's."""
        return x

    def loaded(self, shape: Shape) -> Shape:
        return shape

    def saved(self, shape: Shape) -> Shape:
        return shape


class ReverseAxes(Step):
    """[…, b, a] ↔ [a, b, …]; for a matrix, its transpose."""

    def load(self, x: Tensor) -> Tensor:
        return x.permute(*reversed(range(x.ndim)))

    def loaded(self, shape: Shape) -> Shape:
        return shape[::-1]

    save, saved = load, loaded


class LeadingAxis(Step):
    """The file has an axis of size 1 in front."""

    def load(self, x: Tensor) -> Tensor:
        return x[0]

    def save(self, x: Tensor) -> Tensor:
        return x[None]

    def loaded(self, shape: Shape) -> Shape:
        return shape[1:]

    def saved(self, shape: Shape) -> Shape:
        return (1, *shape)


class WithoutPaddingRow(Step):
    """The file's table begins with what is our row 1; our row 0, padding, is zero."""

    def load(self, x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x[:1]), x])

    def save(self, x: Tensor) -> Tensor:
        return x[1:]

    def loaded(self, shape: Shape) -> Shape:
        return (shape[0] + 1, *shape[1:])

    def saved(self, shape: Shape) -> Shape:
        return (shape[0] - 1, *shape[1:])


class WithPaddingRow(Step):
    """The file's table has a row 0 for padding, whose values no result depends on; ours is zero."""

    def load(self, x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x[:1]), x[1:]])


@dataclass(frozen=True)
class Gates(Step):
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


class ForgetBias(Step):
    """The file's bias holds the forget gate's constant; ours does not (the network adds it). Gates in our order."""

    def load(self, x: Tensor) -> Tensor:
        return x - self._constant(x)

    def save(self, x: Tensor) -> Tensor:
        return x + self._constant(x)

    def _constant(self, x: Tensor) -> Tensor:
        return torch.cat([torch.full_like(b, FORGET_BIAS * (n == 1)) for n, b in enumerate(x.chunk(4))])


class NegateLowerHalf(Step):
    """The file's highway gate has the opposite sign: it carries where ours transforms."""

    def load(self, x: Tensor) -> Tensor:
        transform, gate = x.chunk(2)
        return torch.cat([transform, -gate])

    save = load
