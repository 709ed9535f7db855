"""Sentiment, five classes, on the Stanford Sentiment Treebank.

Unlike McCann et al. (2017), training uses only phrases of four or more tokens besides the sentences; shorter ones are
mostly single words, whose sentiment the static vectors already show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Preset, Split, TrainingChoices
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.spans import sure
from polyseme.tasks.sst.data import SstSentence, read_sentiment
from polyseme.tasks.sst.network import SstSizes, TokenClassification
from polyseme.tasks.tagged import one_sentence

PRESETS = {
    "paper": Preset(
        SstSizes(),
        TrainingChoices(epochs=40, batch=100, patience=5, halve_after=0),
        # As the authors published it: ELMo only at the input, without its own dropout.
        InputChoices(elmo="input", elmo_dropout=0.0, characters=0),
    ),
    "cpu": Preset(
        SstSizes(hidden=100, dropout=0.35),
        TrainingChoices(epochs=6, batch=100, patience=2, halve_after=1),
        InputChoices(elmo_dropout=0.1, characters=0),
    ),
}


class Sst(TokenClassification[SstSentence]):
    """Accuracy over whole sentences, five classes."""

    name = "sst"
    title = "sentiment"
    by_sentence = True
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[SstSentence]:
        return read_sentiment(path, FileReading.of(split))

    def examples(self, item: Any, split: Split) -> list[SstSentence]:
        return [SstSentence(tokens) for tokens in one_sentence(item, split) if tokens]

    def for_training(self, examples: list[SstSentence], network: SstSizes) -> list[SstSentence]:
        """Whole sentences; with ``subtrees``, also each labelled phrase that is long enough, once, as a sentence."""
        if not network.subtrees:
            return examples
        phrases = [
            SstSentence(example.tokens[start:end], label)
            for example in examples
            for label, start, end in example.phrases
            if end - start >= network.shortest_phrase
        ]
        return list(dict.fromkeys([*(replace(example, phrases=()) for example in examples), *phrases]))

    def record(self, example: SstSentence, prediction: Any) -> dict[str, Any]:
        return {"tokens": list(example.tokens), "label": prediction} | sure(prediction)

    def write(self, pairs: Iterable[tuple[SstSentence, Any]]) -> Iterator[str]:
        for example, label in pairs:
            yield f"{label}\t{' '.join(example.tokens)}\n"


TASK = Sst()
