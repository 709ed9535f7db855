"""Word vectors that are trained with a task: those of a file, moved, or new ones.

    vector(word) = its static vector + what the task has taught         a word of training that the file has
                   what the task has taught                             one that it lacks, or where there is no file
                   its static vector                                    one that training did not meet

What is taught begins at zero, so training begins with the vectors of the file; without a file it begins at random.
Words that no file has and training met once share the vector of unknown words; that is how that vector is learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from polyseme.tasks.vectors.static import StaticVectors

NOT_TRAINED, UNKNOWN_WORD = 0, 1
#: Occurrences in training of a word that has no static vector, from which it has one of its own.
OFTEN = 2


@dataclass(frozen=True)
class LearnedWords:
    """The words that have a row of their own, from 2; none where vectors are not trained."""

    words: tuple[str, ...] = ()
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rows = {word: row for row, word in enumerate(self.words, start=UNKNOWN_WORD + 1)}
        object.__setattr__(self, "_rows", rows)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], static: StaticVectors) -> LearnedWords:
        """Of the training sentences: every word that has a static vector, and the others that occur twice."""
        counts = Counter(static.key(token) for tokens in sentences for token in tokens)
        return cls(tuple(sorted(word for word, count in counts.items() if word in static.rows or count >= OFTEN)))

    @property
    def size(self) -> int:
        return len(self.words) + UNKNOWN_WORD + 1

    def ids(self, tokens: Sequence[str], static: StaticVectors) -> list[int]:
        keys = map(static.key, tokens)
        return [self._rows.get(key, NOT_TRAINED if key in static.rows else UNKNOWN_WORD) for key in keys]


class TaskWordVectors(nn.Module):
    """Static vectors [B, N, S] and rows [B, N] → vectors [B, N, V]; ``tuning`` is that of ``InputChoices``."""

    def __init__(self, tuning: str, rows: int, static_width: int, new_width: int) -> None:
        super().__init__()
        self.keeps, self.moves = tuning != "trained", static_width > 0
        trained = (static_width or new_width) if tuning != "frozen" else 0
        self.width = trained + (static_width if self.keeps else 0)  # V
        self.taught = nn.Embedding(rows, trained, padding_idx=NOT_TRAINED) if trained else None
        if self.taught is not None:
            bound = 0.0 if self.moves else (3 / trained) ** 0.5  # a variance of one over the width
            nn.init.uniform_(self.taught.weight, -bound, bound)
            nn.init.zeros_(self.taught.weight.data[NOT_TRAINED])

    def forward(self, static: Tensor, rows: Tensor) -> Tensor:
        if self.taught is None:
            return static
        taught = self.taught(rows) * (rows != NOT_TRAINED)[:, :, None]  # [B, N, V or less]
        trained: Tensor = static + taught if self.moves else taught
        return torch.cat([static, trained], dim=2) if self.keeps else trained
