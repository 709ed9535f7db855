"""Word vectors trained with a task: fine-tuned from a file, or learned from scratch.

    vector(word) = its static vector + a learned vector                 a training word that the file has
                   a learned vector                                     one that it lacks, or if there is no file
                   its static vector                                    a word not seen in training

Learned vectors start at zero, so training starts from the vectors of the file; without a file they start at random.
Training words that the file lacks and that occur only once share the vector of unknown words, which is thus learned.

In addition, a convolution over the characters of each token learns a vector of its spelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from polyseme.tasks.vectors.static import StaticVectors

NOT_TRAINED, UNKNOWN_WORD = 0, 1
#: A word without a static vector gets its own learned vector if it occurs this often in training.
OFTEN = 2
PADDING, UNKNOWN_CHARACTER, BEGIN, END = range(4)
LONGEST = 40  # characters of a token that are read; the rest says little about a word
FILTER_WIDTH = 3


@dataclass(frozen=True)
class LearnedWords:
    """The words that have their own row, from 2 on; empty if vectors are not trained."""

    words: tuple[str, ...] = ()
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rows = {word: row for row, word in enumerate(self.words, start=UNKNOWN_WORD + 1)}
        object.__setattr__(self, "_rows", rows)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], static: StaticVectors) -> LearnedWords:
        """Every word of the training sentences that has a static vector, and the others that occur twice."""
        counts = Counter(static.key(token) for tokens in sentences for token in tokens)
        return cls(tuple(sorted(word for word, count in counts.items() if word in static.rows or count >= OFTEN)))

    @property
    def size(self) -> int:
        return len(self.words) + UNKNOWN_WORD + 1

    def ids(self, tokens: Sequence[str], static: StaticVectors) -> list[int]:
        keys = map(static.key, tokens)
        return [self._rows.get(key, NOT_TRAINED if key in static.rows else UNKNOWN_WORD) for key in keys]


class TaskWordVectors(nn.Module):
    """Static vectors [B, N, S] and rows [B, N] → vectors [B, N, V]; ``tuning`` is ``InputChoices.word_vectors``."""

    def __init__(self, tuning: str, rows: int, static_width: int, new_width: int) -> None:
        super().__init__()
        self.keeps, self.moves = tuning != "trained", static_width > 0
        trained = (static_width or new_width) if tuning != "frozen" else 0
        self.width = trained + (static_width if self.keeps else 0)  # V
        self.taught = nn.Embedding(rows, trained, padding_idx=NOT_TRAINED) if trained else None
        if self.taught is not None:
            bound = 0.0 if self.moves else (3 / trained) ** 0.5  # a variance of 1 / width
            nn.init.uniform_(self.taught.weight, -bound, bound)
            nn.init.zeros_(self.taught.weight.data[NOT_TRAINED])

    def forward(self, static: Tensor, rows: Tensor) -> Tensor:
        if self.taught is None:
            return static
        taught = self.taught(rows) * (rows != NOT_TRAINED)[:, :, None]  # [B, N, V or less]
        trained: Tensor = static + taught if self.moves else taught
        return torch.cat([static, trained], dim=2) if self.keeps else trained


@dataclass(frozen=True)
class Spelling:
    """The characters of the training text; all others are unknown."""

    alphabet: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {character: number for number, character in enumerate(self.alphabet, END + 1)})

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> Spelling:
        return cls(tuple(sorted({character for tokens in sentences for token in tokens for character in token})))

    @property
    def size(self) -> int:
        return len(self.alphabet) + END + 1

    def ids(self, token: str) -> list[int]:
        return [BEGIN, *(self._ids.get(character, UNKNOWN_CHARACTER) for character in token[:LONGEST]), END]

    def batch(self, sentences: Sequence[Sequence[str]], longest: int) -> tuple[Tensor, Tensor]:
        """Distinct tokens [R, C], and the row of each token [B, N]; row 0 is padding."""
        rows: dict[str, int] = {}
        which = np.zeros((len(sentences), longest), dtype=np.int64)
        for number, sentence in enumerate(sentences):
            which[number, : len(sentence)] = [rows.setdefault(token, len(rows) + 1) for token in sentence]
        spelled = [self.ids(token) for token in rows]
        width = max([FILTER_WIDTH, *map(len, spelled)])
        out = np.zeros((len(rows) + 1, width), dtype=np.int64)
        for number, ids in enumerate(spelled, start=1):
            out[number, : len(ids)] = ids
        return torch.from_numpy(out), torch.from_numpy(which)


class SpellingCNN(nn.Module):
    """Spellings → vectors: convolution over three characters, maximum over positions, ReLU."""

    def __init__(self, alphabet: int, dim: int, filters: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(alphabet, dim, padding_idx=PADDING)
        # Training has no unknown characters, so their vector keeps its initial value: zero rather than noise.
        nn.init.zeros_(self.characters.weight.data[UNKNOWN_CHARACTER])
        self.convolution = nn.Conv1d(dim, filters, FILTER_WIDTH)

    def forward(self, spellings: Tensor) -> Tensor:
        """[R, C] → [R, filters]"""
        convolved: Tensor = self.convolution(self.characters(spellings).transpose(1, 2))  # [R, filters, C - 2]
        # Windows past the end of a token are ignored: the length of other tokens in the batch must not matter.
        inside = spellings[:, FILTER_WIDTH - 1 :] != PADDING  # [R, C - 2]
        lowest = torch.finfo(convolved.dtype).min
        return torch.relu(convolved.masked_fill(~inside[:, None, :], lowest).amax(dim=2))
