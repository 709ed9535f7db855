"""Tokens → BiLSTM → a score for each tag: what taggers of words and of spans share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.inputs import TokenBatch, TokenInputs
from polyseme.tasks.parts.encoders import BiLSTM, VariationalDropout


@dataclass(frozen=True, slots=True)
class TaggerSizes:
    hidden: int = 200  #: of one direction of the LSTM
    depth: int = 2  #: layers of the LSTM
    dropout: float = 0.5


@dataclass(frozen=True, slots=True)
class TaggerBatch:
    tokens: TokenBatch
    tags: Tensor | None  # [B, N]


class Tagger(TaskNetwork):
    """What a task makes of the scores is its own."""

    def __init__(self, sizes: TaggerSizes, tags: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        self.tags = tags
        self.dropout = VariationalDropout(sizes.dropout)
        self.encoder = BiLSTM(tokens.input_width, sizes.hidden, layers=sizes.depth, dropout=sizes.dropout)
        self.emit = nn.Linear(self.encoder.width + tokens.output_width, len(tags))

    def scores(self, batch: TokenBatch) -> Tensor:
        """[B, N, K]"""
        vectors = self.tokens(batch)
        encoded = self.encoder(self.dropout(vectors.input), vectors.lengths)  # [B, N, 2 hidden]
        scores: Tensor = self.emit(self.dropout(torch.cat([encoded, vectors.output], dim=2)))
        return scores
