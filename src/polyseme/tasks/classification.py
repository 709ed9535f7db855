"""What is shared by tasks that give each example one label: sentiment, inference, classes of texts or of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from polyseme.tasks.definition import Definition, Split, Vocabularies
from polyseme.tasks.scores import Scores, label_scores


class HasLabel(Protocol):
    """An example of such a task."""

    @property
    def label(self) -> str | None:
        """None if it is to be predicted."""


C = TypeVar("C", bound=HasLabel)
S = TypeVar("S")


class Classification(Definition[C, S], Generic[C, S]):
    """Accuracy over the labels of the training examples. A prediction is a label, or an object that has one."""

    metric = "accuracy"

    def vocabularies(self, examples: Sequence[C]) -> Vocabularies:
        return {"labels": sorted({example.label for example in examples if example.label is not None})}

    def score(self, predictions: Sequence[Any], examples: Sequence[C]) -> Scores:
        found = [one["label"] if isinstance(one, dict) else one for one in predictions]
        return label_scores([example.label or "" for example in examples], found)


def label_numbers(examples: Sequence[HasLabel], vocabularies: Vocabularies) -> Tensor | None:
    """The targets of a batch; None if any example has no label, or one not seen in training. [B]"""
    numbers = {label: number for number, label in enumerate(vocabularies["labels"])}
    known = [numbers.get(example.label or "") for example in examples]
    return None if None in known else torch.tensor(known)


def all_tokens(text: str, split: Split) -> tuple[str, ...]:
    """The tokens of a text's sentences, one after another: the task's encoder reads the text as one line."""
    return tuple(token for sentence in split(text) for token in sentence.tokens)
