"""Pairs of texts and their classes, whatever they are: ESIM (Chen et al., 2017) on any labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import InputError
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.found import FoundLabel, sure
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.labelled_files import SUFFIXES, named_texts, read_labelled
from polyseme.tasks.scores import Scores, label_scores
from polyseme.tasks.snli.network import Esim, EsimSizes, PairBatch


@dataclass(frozen=True, slots=True)
class ClassifiedPair:
    """Two texts and their tokens; None where the label is to be found."""

    texts: tuple[str, str]
    tokens: tuple[tuple[str, ...], tuple[str, ...]]
    label: str | None = None


PRESETS = {
    "paper": Preset(
        EsimSizes(),
        TrainingChoices(epochs=75, batch=32, rate=0.0004, clip=10.0, patience=5, halve_after=1),
        InputChoices(elmo="both", elmo_dropout=0.0, layer_norm=True),
    ),
    "cpu": Preset(
        EsimSizes(hidden=100, dropout=0.3),
        TrainingChoices(epochs=20, batch=32, clip=10.0, patience=4, halve_after=2),
        InputChoices(elmo="both", elmo_dropout=0.1, characters=32),
    ),
}


class TextPairs(Definition[ClassifiedPair, EsimSizes]):
    """Accuracy over pairs."""

    name = "pairs"
    title = "classification of text pairs"
    metric = "accuracy"
    suffixes = SUFFIXES
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[ClassifiedPair]:
        return [_split(one.texts, one.label, split) for one in read_labelled(path, pairs=True)]

    def examples(self, item: Any, split: Split) -> list[ClassifiedPair]:
        texts = tuple(item.split("\t")) if isinstance(item, str) else None
        if isinstance(item, dict):
            texts = named_texts(item, pairs=True)
        if texts is None or len(texts) != 2 or not all(text.strip() for text in texts):
            shown = json.dumps(item, ensure_ascii=False)[:60]
            raise InputError(f"expected two texts (an object such as text1 and text2, or a tab between), not {shown}")
        return [_split(texts, None, split)]

    def sentences(self, example: ClassifiedPair) -> Sequence[Sequence[str]]:
        return example.tokens

    def vocabularies(self, examples: Sequence[ClassifiedPair]) -> Vocabularies:
        return {"labels": sorted({example.label for example in examples if example.label is not None})}

    def network(self, sizes: EsimSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> Esim:
        return Esim(sizes, vocabularies["labels"], tokens)

    def collate(self, examples: Sequence[ClassifiedPair], vocabularies: Vocabularies, features: Features) -> PairBatch:
        numbers = {label: number for number, label in enumerate(vocabularies["labels"])}
        known = [numbers.get(example.label or "") for example in examples]
        first, second = (features([example.tokens[side] for example in examples]) for side in (0, 1))
        return PairBatch(first, second, None if None in known else torch.tensor(known))

    def score(self, predictions: Sequence[Any], examples: Sequence[ClassifiedPair]) -> Scores:
        return label_scores([example.label or "" for example in examples], [found["label"] for found in predictions])

    def record(self, example: ClassifiedPair, prediction: Any) -> dict[str, Any]:
        found = FoundLabel.of(prediction["label"], max(prediction["shares"]))
        return {"text1": example.texts[0], "text2": example.texts[1], "label": found} | sure(found)


def _split(texts: tuple[str, ...], label: str | None, split: Split) -> ClassifiedPair:
    first, second = (tuple(token for part in split(text) for token in part.tokens) for text in texts)
    return ClassifiedPair((texts[0].strip(), texts[1].strip()), (first, second), label)


TASK = TextPairs()
