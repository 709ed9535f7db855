"""Texts and their classes, whatever they are: the network of sentiment (McCann et al., 2017), on any labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import InputError
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.found import sure
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.labelled_files import SUFFIXES, named_texts, read_labelled
from polyseme.tasks.scores import Scores, label_scores
from polyseme.tasks.sst.network import SstBatch, SstNetwork, SstSizes


@dataclass(frozen=True, slots=True)
class ClassifiedText:
    """A text and its tokens, those of all its sentences one after another; None where the label is to be found."""

    text: str
    tokens: tuple[str, ...]
    label: str | None = None


PRESETS = {
    "paper": Preset(
        SstSizes(),
        TrainingChoices(epochs=40, batch=64, patience=5, halve_after=0),
        InputChoices(elmo_dropout=0.0, characters=0),
    ),
    "cpu": Preset(
        SstSizes(hidden=100, dropout=0.35),
        TrainingChoices(epochs=20, batch=64, patience=3, halve_after=1),
        InputChoices(elmo_dropout=0.1, characters=32),
    ),
}


class TextClasses(Definition[ClassifiedText, SstSizes]):
    """Accuracy over texts."""

    name = "text"
    title = "text classification"
    metric = "accuracy"
    suffixes = SUFFIXES
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[ClassifiedText]:
        return [_split(one.texts[0], one.label, split) for one in read_labelled(path, pairs=False)]

    def examples(self, item: Any, split: Split) -> list[ClassifiedText]:
        if isinstance(item, dict):
            (item,) = named_texts(item, pairs=False) or (item,)
        if not isinstance(item, str) or not item.strip():
            raise InputError(f"expected a text, or an object with one, not {json.dumps(item, ensure_ascii=False)[:60]}")
        return [_split(item.strip(), None, split)]

    def sentences(self, example: ClassifiedText) -> Sequence[Sequence[str]]:
        return [example.tokens]

    def vocabularies(self, examples: Sequence[ClassifiedText]) -> Vocabularies:
        return {"labels": sorted({example.label for example in examples if example.label is not None})}

    def network(self, sizes: SstSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> SstNetwork:
        return SstNetwork(sizes, vocabularies["labels"], tokens)

    def collate(self, examples: Sequence[ClassifiedText], vocabularies: Vocabularies, features: Features) -> SstBatch:
        numbers = {label: number for number, label in enumerate(vocabularies["labels"])}
        known = [numbers.get(example.label or "") for example in examples]
        tokens = features([example.tokens for example in examples])
        return SstBatch(tokens, None if None in known else torch.tensor(known))

    def score(self, predictions: Sequence[Any], examples: Sequence[ClassifiedText]) -> Scores:
        return label_scores([example.label or "" for example in examples], predictions)

    def record(self, example: ClassifiedText, prediction: Any) -> dict[str, Any]:
        return {"text": example.text, "label": prediction} | sure(prediction)


def _split(text: str, label: str | None, split: Split) -> ClassifiedText:
    return ClassifiedText(text, tuple(token for part in split(text) for token in part.tokens), label)


TASK = TextClasses()
