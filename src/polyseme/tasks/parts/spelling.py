"""Tokens spelled out: characters as ids, and the convolution that learns a vector of them with the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

PADDING, UNKNOWN, BEGIN, END = range(4)
LONGEST = 40  # characters of a token; what stands behind tells little of a word
FILTER_WIDTH = 3


@dataclass(frozen=True)
class Spelling:
    """An alphabet: the characters of the training text, then unknown ones."""

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
        return [BEGIN, *(self._ids.get(character, UNKNOWN) for character in token[:LONGEST]), END]

    def batch(self, sentences: Sequence[Sequence[str]], longest: int) -> tuple[Tensor, Tensor]:
        """Distinct tokens [R, C] and where each stands [B, N]; row 0 is padding."""
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
    """Spellings → vectors: convolution over three characters, the maximum over places, ReLU."""

    def __init__(self, alphabet: int, dim: int, filters: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(alphabet, dim, padding_idx=PADDING)
        # Training never meets an unknown character, so its vector stays as it begins: nothing rather than noise.
        nn.init.zeros_(self.characters.weight.data[UNKNOWN])
        self.convolution = nn.Conv1d(dim, filters, FILTER_WIDTH)

    def forward(self, spellings: Tensor) -> Tensor:
        """[R, C] → [R, filters]"""
        convolved: Tensor = self.convolution(self.characters(spellings).transpose(1, 2))  # [R, filters, C - 2]
        # A window that begins behind the end of a token says nothing of it; a batch-mate's length must not matter.
        inside = spellings[:, FILTER_WIDTH - 1 :] != PADDING  # [R, C - 2]
        lowest = torch.finfo(convolved.dtype).min
        return torch.relu(convolved.masked_fill(~inside[:, None, :], lowest).amax(dim=2))
