"""The output layer of a stored model: a softmax row for each word of a vocabulary, or a sentence on what is missing."""

from __future__ import annotations

from polyseme.errors import ConfigError
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.text.vocabulary import SPECIALS, Vocabulary


def output_layer(stored: StoredModel) -> tuple[SoftmaxWeights, Vocabulary]:
    """What turns the model's outputs into probabilities of words."""
    name = str(stored.card.get("name") or "this model")
    if stored.softmax is None:
        raise ConfigError(
            f"{name} has no softmax, so it gives vectors but no probabilities; "
            "fit one with: polyseme finetune MODEL DIR --out RUN"
        )
    if stored.vocabulary is None:
        raise ConfigError(
            f"{name} has a softmax of {len(stored.softmax.bias)} rows, but no vocabulary that says which words they "
            "are; put its vocabulary file beside it, or fit a new softmax with: polyseme finetune MODEL DIR --out RUN"
        )
    if len(stored.vocabulary) != len(stored.softmax.bias):
        raise ConfigError(
            f"the vocabulary of {name} has {len(stored.vocabulary)} words, but its softmax has "
            f"{len(stored.softmax.bias)} rows; give the vocabulary that the model was trained with"
        )
    if missing := [special for special in SPECIALS if special not in stored.vocabulary]:
        raise ConfigError(
            f"the vocabulary of {name} lacks {', '.join(missing)}, so nothing stands for sentence boundaries and "
            "unknown words; fit a new softmax with: polyseme finetune MODEL DIR --out RUN"
        )
    return stored.softmax, stored.vocabulary
