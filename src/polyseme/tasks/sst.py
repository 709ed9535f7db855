"""Sentiment: the biattentive classification network (McCann et al., 2017) on the Stanford Sentiment Treebank.

Unlike McCann et al.: two layers with ReLU decide where they had maxout, and beside the sentences only phrases of four
tokens or more are trained on; shorter ones are mostly single words, which the static vectors tell already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.nn.dropout import Dropout
from polyseme.tasks.attention import masked_softmax
from polyseme.tasks.definition import Definition, Preset, Split, TaskNetwork, TrainingChoices, Vocabularies
from polyseme.tasks.encoders import BiLSTM, start_for_relu
from polyseme.tasks.inputs import Features, InputChoices, TokenBatch, TokenInputs
from polyseme.tasks.scores import Scores, label_scores
from polyseme.tasks.sst_trees import Sentence, read_sentiment
from polyseme.tasks.tagged import one_sentence


@dataclass(frozen=True, slots=True)
class Sizes:
    hidden: int = 300  #: of the first and the last layers and of one direction of both LSTMs
    dropout: float = 0.25
    subtrees: bool = True  #: train on the labelled phrases within the sentences too
    shortest_phrase: int = 4  #: tokens of a phrase that is trained on


@dataclass(frozen=True, slots=True)
class Batch:
    tokens: TokenBatch
    labels: Tensor | None  # [B]


class SstNetwork(TaskNetwork):
    """Encode, attend from each word to the others, encode again, pool in four ways, decide."""

    def __init__(self, sizes: Sizes, labels: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        self.labels = labels
        self.dropout = Dropout(sizes.dropout)
        self.first = nn.Linear(tokens.input_width, sizes.hidden).apply(start_for_relu)
        self.encoder = BiLSTM(sizes.hidden, sizes.hidden)
        self.integrator = BiLSTM(3 * self.encoder.width, sizes.hidden)
        pooled = self.integrator.width + tokens.output_width
        self.attend = nn.Linear(pooled, 1, bias=False)  # a bias would move no softmax over the tokens
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
        """[B, N, P] → [B, 4 P]: largest, smallest, mean, and a sum by learned attention"""
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

    def forward(self, batch: Batch) -> Tensor:
        assert batch.labels is not None
        return nn.functional.cross_entropy(self.scores(batch.tokens), batch.labels)

    def predict(self, batch: Batch) -> list[str]:
        return [self.labels[label] for label in self.scores(batch.tokens).argmax(dim=1).tolist()]


PRESETS = {
    "paper": Preset(
        Sizes(),
        TrainingChoices(epochs=40, batch=100, rate=0.0001, patience=5, halve_after=0),
        InputChoices(elmo="both", characters=0),
    ),
    "cpu": Preset(
        Sizes(hidden=100, dropout=0.35),
        TrainingChoices(epochs=6, batch=100, patience=2, halve_after=1),
        InputChoices(elmo_dropout=0.1, characters=0),
    ),
}


class Sst(Definition[Sentence, Sizes]):
    """Accuracy over whole sentences, five classes."""

    name = "sst"
    title = "sentiment"
    metric = "accuracy"
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[Sentence]:
        return read_sentiment(path)

    def examples(self, item: Any, split: Split) -> list[Sentence]:
        return [Sentence(tokens) for tokens in one_sentence(item, split) if tokens]

    def sentences(self, example: Sentence) -> Sequence[Sequence[str]]:
        return [example.tokens]

    def for_training(self, examples: list[Sentence], network: Sizes) -> list[Sentence]:
        """Whole sentences; with subtrees each labelled phrase that is long enough once, as a sentence of its own."""
        if not network.subtrees:
            return examples
        phrases = [
            Sentence(example.tokens[start:end], label)
            for example in examples
            for label, start, end in example.phrases
            if end - start >= network.shortest_phrase
        ]
        return list(dict.fromkeys([*(replace(example, phrases=()) for example in examples), *phrases]))

    def vocabularies(self, examples: Sequence[Sentence]) -> Vocabularies:
        return {"labels": sorted({example.label for example in examples if example.label is not None})}

    def network(self, sizes: Sizes, vocabularies: Vocabularies, tokens: TokenInputs) -> SstNetwork:
        return SstNetwork(sizes, vocabularies["labels"], tokens)

    def collate(self, examples: Sequence[Sentence], vocabularies: Vocabularies, features: Features) -> Batch:
        tokens = features([example.tokens for example in examples])
        numbers = {label: number for number, label in enumerate(vocabularies["labels"])}
        known = [numbers.get(example.label or "") for example in examples]
        return Batch(tokens, None if None in known else torch.tensor(known))

    def score(self, predictions: Sequence[Any], examples: Sequence[Sentence]) -> Scores:
        return label_scores([example.label or "" for example in examples], predictions)

    def record(self, example: Sentence, prediction: Any) -> dict[str, Any]:
        return {"tokens": list(example.tokens), "label": prediction}

    def write(self, pairs: Iterable[tuple[Sentence, Any]]) -> Iterator[str]:
        for example, label in pairs:
            yield f"{label}\t{' '.join(example.tokens)}\n"


TASK = Sst()
