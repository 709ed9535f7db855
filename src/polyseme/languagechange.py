"""A contextualised model for the languagechange package of the Change is Key! programme (lexical semantic change).

embeddings = ElmoUsages("en").encode(usages)     # usages: its TargetUsage objects

That package is not on PyPI (another one has its name there), so this follows the interface documented in its source:
``encode`` takes usages with ``text()`` and ``offsets``, and returns one row for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, cast

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Encoding, Floats
from polyseme.errors import InputError


class Usage(Protocol):
    """A text and the place of a target in it, like ``languagechange.usages.TargetUsage``."""

    offsets: Sequence[int | str]  #: first character of the target, and its end

    def text(self) -> str: ...


class ElmoUsages:
    """The vectors of target words in context: the mean over the tokens of each target."""

    def __init__(
        self, pretrained_model: str = "en", device: str = "cpu", *, state: Literal["reset", "warm"] | None = None
    ) -> None:
        self.elmo = Elmo.from_pretrained(pretrained_model, device=device, state=state)

    def encode(self, target_usages: Usage | Iterable[Usage], batch_size: int = 8) -> Floats:
        """One usage or n of them → [n, W]. ``batch_size`` is ignored: batches are planned by length."""
        one_alone = hasattr(target_usages, "text")
        usages = [cast(Usage, target_usages)] if one_alone else list(cast(Iterable[Usage], target_usages))
        rows = np.zeros((len(usages), self.elmo.config.width), np.float32)
        for row, usage, encoding in zip(rows, usages, self.elmo.stream(one.text() for one in usages), strict=True):
            row[:] = _mean_of(encoding, *map(int, usage.offsets))
        return rows


def _mean_of(encoding: Encoding, begin: int, end: int) -> Floats:
    inside = (encoding.offsets[:, 0] < end) & (encoding.offsets[:, 1] > begin)
    if not inside.any():
        raise InputError(f"there is no word at characters {begin} to {end} of {encoding.text[:60]!r}")
    mean: Floats = encoding.vectors[inside].mean(axis=0)
    return mean
