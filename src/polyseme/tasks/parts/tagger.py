"""What taggers of words and of spans share: tokens → BiLSTM → a score for each tag, and their batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from polyseme.tasks.definition import Definition, TaskNetwork, Vocabularies
from polyseme.tasks.inputs import Features, TokenBatch, TokenInputs
from polyseme.tasks.parts.encoders import BiLSTM, VariationalDropout


@dataclass(frozen=True, slots=True)
class TaggerSizes:
    hidden: int = 200  #: size of one direction of the LSTM
    depth: int = 2  #: layers of the LSTM
    dropout: float = 0.5


@dataclass(frozen=True, slots=True)
class TaggerBatch:
    tokens: TokenBatch
    tags: Tensor | None  # [B, N]


class Tagger(TaskNetwork):
    """Scores every tag of every token; each task decodes the scores in its own way."""

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


class HasTokens(Protocol):
    """A sentence to tag."""

    @property
    def tokens(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=HasTokens)


class Tagging(Definition[T, TaggerSizes], Generic[T]):
    """A task whose network is a ``Tagger``; tags are numbered as in ``vocabularies["tags"]``."""

    by_sentence = True
    kind: ClassVar[type[Tagger]]
    no_tag: ClassVar[int]  #: target for padding, and for tags not seen in training

    @abstractmethod
    def gold_tags(self, example: T) -> Sequence[str] | None:
        """One tag for each token; None if they are to be predicted."""

    def sentences(self, example: T) -> Sequence[Sequence[str]]:
        return [example.tokens]

    def network(self, sizes: TaggerSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> Tagger:
        return self.kind(sizes, vocabularies["tags"], tokens)

    def collate(self, examples: Sequence[T], vocabularies: Vocabularies, features: Features) -> TaggerBatch:
        tokens = features([example.tokens for example in examples])
        numbers = {tag: number for number, tag in enumerate(vocabularies["tags"])}
        tags = torch.full(tokens.mask.shape, self.no_tag)
        for row, example in enumerate(examples):
            if (gold := self.gold_tags(example)) is None:
                return TaggerBatch(tokens, None)
            tags[row, : len(gold)] = torch.tensor([numbers.get(tag, self.no_tag) for tag in gold], dtype=torch.int64)
        return TaggerBatch(tokens, tags)
