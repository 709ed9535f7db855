"""The biattentive classification network (McCann et al., 2017), with two ReLU layers in place of maxout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from polyseme.nn.dropout import Dropout
from polyseme.tasks.classification import Classification, HasLabel, label_numbers
from polyseme.tasks.definition import TaskNetwork, Vocabularies
from polyseme.tasks.inputs import Features, TokenBatch, TokenInputs
from polyseme.tasks.parts.attention import masked_softmax
from polyseme.tasks.parts.encoders import BiLSTM, start_for_relu
from polyseme.tasks.spans import FoundLabel


@dataclass(frozen=True, slots=True)
class SstSizes:
    hidden: int = 300  #: size of the first and last layers, and of one direction of both LSTMs
    dropout: float = 0.25
    subtrees: bool = True  #: also train on the labelled phrases within sentences
    shortest_phrase: int = 4  #: fewest tokens in a phrase that is trained on


@dataclass(frozen=True, slots=True)
class SstBatch:
    tokens: TokenBatch
    labels: Tensor | None  # [B]


class SstNetwork(TaskNetwork):
    """Encode, attend from each word to the others, encode again, pool in four ways, classify."""

    def __init__(self, sizes: SstSizes, labels: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        self.labels = labels
        self.dropout = Dropout(sizes.dropout)
        self.first = nn.Linear(tokens.input_width, sizes.hidden).apply(start_for_relu)
        self.encoder = BiLSTM(sizes.hidden, sizes.hidden)
        self.integrator = BiLSTM(3 * self.encoder.width, sizes.hidden)
        pooled = self.integrator.width + tokens.output_width
        self.attend = nn.Linear(pooled, 1, bias=False)  # a bias would not change a softmax over the tokens
        self.decide = nn.Sequential(
            Dropout(sizes.dropout),
            nn.Linear(4 * pooled, sizes.hidden).apply(start_for_relu),
            nn.ReLU(),
            Dropout(sizes.dropout),
            nn.Linear(sizes.hidden, sizes.hidden).apply(start_for_relu),
            nn.ReLU(),
            nn.Linear(sizes.hidden, len(labels)),
        )

    def scores(self, batch: TokenBatch) -> Tensor:
        """[B, K]"""
        vectors = self.tokens(batch)
        here = vectors.mask[:, :, None]  # [B, N, 1]
        narrow = self.dropout(torch.relu(self.first(self.dropout(vectors.input))))
        x = self.encoder(narrow, vectors.lengths)  # [B, N, 2 hidden]
        likeness = x @ x.transpose(1, 2)  # [B, N, N]
        context = masked_softmax(likeness, vectors.mask[:, None, :]) @ x * here
        joined = torch.cat([x, x - context, x * context], dim=2)
        y = torch.cat([self.integrator(joined, vectors.lengths), vectors.output], dim=2)  # [B, N, P]
        decided: Tensor = self.decide(self.pool(y, vectors.mask))
        return decided

    def pool(self, y: Tensor, mask: Tensor) -> Tensor:
        """[B, N, P] → [B, 4 P]: maximum, minimum, mean, and a sum weighted by learned attention"""
        here = mask[:, :, None]
        attention = masked_softmax(self.attend(y).squeeze(2), mask)  # [B, N]
        count = mask.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.cat(
            [
                y.masked_fill(~here, -1e4).amax(dim=1),
                y.masked_fill(~here, 1e4).amin(dim=1),
                (y * here).sum(dim=1) / count,
                (attention[:, :, None] * y).sum(dim=1),
            ],
            dim=1,
        )

    def forward(self, batch: SstBatch) -> Tensor:
        assert batch.labels is not None
        return nn.functional.cross_entropy(self.scores(batch.tokens), batch.labels)

    def predict(self, batch: SstBatch) -> list[FoundLabel]:
        confidences, best = torch.softmax(self.scores(batch.tokens), dim=1).max(dim=1)  # [B] each
        pairs = zip(best.tolist(), confidences.tolist(), strict=True)
        return [FoundLabel.of(self.labels[label], share) for label, share in pairs]


class LabelledTokens(HasLabel, Protocol):
    """Tokens and their label."""

    @property
    def tokens(self) -> tuple[str, ...]: ...


L = TypeVar("L", bound=LabelledTokens)


class TokenClassification(Classification[L, SstSizes], Generic[L]):
    """A task that predicts one label for the tokens of a text with this network."""

    def sentences(self, example: L) -> Sequence[Sequence[str]]:
        return [example.tokens]

    def network(self, sizes: SstSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> SstNetwork:
        return SstNetwork(sizes, vocabularies["labels"], tokens)

    def collate(self, examples: Sequence[L], vocabularies: Vocabularies, features: Features) -> SstBatch:
        return SstBatch(features([example.tokens for example in examples]), label_numbers(examples, vocabularies))
