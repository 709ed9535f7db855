"""ESIM, the enhanced sequential inference model (Chen et al., 2017).

encode      a, b      = BiLSTM(premise), BiLSTM(hypothesis)           ELMo at the output joins here
align       ã_i       = Σ_j softmax_j(a_i · b_j) b_j                  and b̃ likewise
compare     v         = BiLSTM(ReLU(W [a; ã; a − ã; a ∘ ã]))
decide      label     = W ReLU(W [mean v_a; max v_a; mean v_b; max v_b])

Chen et al. use tanh in the last step; Peters et al. (2018) use ReLU, as here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyseme.nn.dropout import Dropout
from polyseme.tasks.classification import Classification, HasLabel, label_numbers
from polyseme.tasks.definition import TaskNetwork, Vocabularies
from polyseme.tasks.inputs import Features, TokenBatch, TokenInputs
from polyseme.tasks.parts.attention import masked_softmax
from polyseme.tasks.parts.encoders import BiLSTM, VariationalDropout, start_for_relu


@dataclass(frozen=True, slots=True)
class EsimSizes:
    """Sizes of the network."""

    hidden: int = 300
    dropout: float = 0.5


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Premises and hypotheses in the same order, and their labels if known."""

    premises: TokenBatch
    hypotheses: TokenBatch
    labels: Tensor | None  # [B]


class Esim(TaskNetwork):
    """Premise and hypothesis → one of the labels."""

    def __init__(self, sizes: EsimSizes, labels: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        hidden = sizes.hidden
        self.labels = labels
        self.dropout = VariationalDropout(sizes.dropout)
        self.encoder = BiLSTM(tokens.input_width, hidden)
        encoded = self.encoder.width + tokens.output_width
        self.projection = nn.Linear(4 * encoded, hidden).apply(start_for_relu)
        self.composition = BiLSTM(hidden, hidden)
        self.decision = nn.Sequential(
            Dropout(sizes.dropout),
            nn.Linear(4 * self.composition.width, hidden).apply(start_for_relu),
            nn.ReLU(),
            Dropout(sizes.dropout),
            nn.Linear(hidden, len(labels)),
        )

    def forward(self, batch: PairBatch) -> Tensor:
        assert batch.labels is not None, "a loss needs labels"
        return functional.cross_entropy(self.logits(batch), batch.labels)

    def predict(self, batch: PairBatch) -> list[Any]:
        shares = torch.softmax(self.logits(batch), dim=1)  # [B, labels]
        best = shares.argmax(dim=1).tolist()
        return [
            {"label": self.labels[label], "shares": [round(share, 4) for share in row]}
            for label, row in zip(best, shares.tolist(), strict=True)
        ]

    def logits(self, batch: PairBatch) -> Tensor:
        """[B, labels]"""
        a, a_mask, a_lengths = self._encode(batch.premises)
        b, b_mask, b_lengths = self._encode(batch.hypotheses)
        similarity = torch.bmm(a, b.transpose(1, 2))  # [B, N, M]
        a_aligned = torch.bmm(masked_softmax(similarity, b_mask[:, None, :]), b)
        b_aligned = torch.bmm(masked_softmax(similarity.transpose(1, 2), a_mask[:, None, :]), a)
        pooled = [
            *self._compare(a, a_aligned, a_mask, a_lengths),
            *self._compare(b, b_aligned, b_mask, b_lengths),
        ]
        decided: Tensor = self.decision(torch.cat(pooled, dim=1))
        return decided

    def _encode(self, batch: TokenBatch) -> tuple[Tensor, Tensor, Tensor]:
        vectors = self.tokens(batch)
        encoded = self.encoder(self.dropout(vectors.input), vectors.lengths)
        return torch.cat([encoded, vectors.output], dim=2), vectors.mask, vectors.lengths

    def _compare(self, own: Tensor, aligned: Tensor, mask: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """One side's tokens compared with what they are aligned to: mean and maximum, [B, 2 hidden] each"""
        enhanced = torch.cat([own, aligned, own - aligned, own * aligned], dim=2)
        projected = self.dropout(torch.relu(self.projection(enhanced)))
        composed = self.composition(projected, lengths)  # [B, N, 2 hidden], zeros for padding
        mean = composed.sum(dim=1) / lengths.clamp(min=1)[:, None].to(composed)
        largest = composed.masked_fill(~mask[:, :, None], -1.0).amax(dim=1)  # an LSTM's output is never below -1
        return mean, largest


class LabelledPair(HasLabel, Protocol):
    """The tokens of two texts and their label."""

    @property
    def tokens(self) -> tuple[tuple[str, ...], tuple[str, ...]]: ...


P = TypeVar("P", bound=LabelledPair)


class PairClassification(Classification[P, EsimSizes], Generic[P]):
    """One label of two texts, found by this network."""

    def sentences(self, example: P) -> Sequence[Sequence[str]]:
        return example.tokens

    def network(self, sizes: EsimSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> Esim:
        return Esim(sizes, vocabularies["labels"], tokens)

    def collate(self, examples: Sequence[P], vocabularies: Vocabularies, features: Features) -> PairBatch:
        first, second = (features([example.tokens[side] for example in examples]) for side in (0, 1))
        return PairBatch(first, second, label_numbers(examples, vocabularies))
