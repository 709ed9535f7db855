"""Classification of pairs of texts with any labels, by ESIM (Chen et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, quoted
from polyseme.settings import with_values
from polyseme.tasks.classification import all_tokens
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Split
from polyseme.tasks.labelled_files import SUFFIXES, named_texts, read_labelled
from polyseme.tasks.snli.network import PairClassification
from polyseme.tasks.snli.task import PRESETS as OF_INFERENCE
from polyseme.tasks.spans import FoundLabel, sure


@dataclass(frozen=True, slots=True)
class ClassifiedPair:
    """Two texts and their tokens; the label is None if it is to be predicted."""

    texts: tuple[str, str]
    tokens: tuple[tuple[str, ...], tuple[str, ...]]
    label: str | None = None


class TextPairs(PairClassification[ClassifiedPair]):
    """Accuracy over pairs."""

    name = "pairs"
    title = "classification of text pairs"
    suffixes = SUFFIXES
    presets = OF_INFERENCE | {"cpu": with_values(OF_INFERENCE["cpu"], {"epochs": 20, "looks": 0}, "pairs")}

    def read(self, path: Path, split: Split) -> list[ClassifiedPair]:
        found = read_labelled(path, pairs=True, reading=FileReading.of(split))
        return [_split(one.texts, one.label, split) for one in found]

    def examples(self, item: Any, split: Split) -> list[ClassifiedPair]:
        texts = tuple(item.split("\t")) if isinstance(item, str) else None
        if isinstance(item, dict):
            texts = named_texts(item, pairs=True)
        if texts is None or len(texts) != 2 or not all(text.strip() for text in texts):
            raise InputError(
                f"expected two texts (an object with text1 and text2, or both separated by a tab), not {quoted(item)}"
            )
        return [_split(texts, None, split)]

    def record(self, example: ClassifiedPair, prediction: Any) -> dict[str, Any]:
        found = FoundLabel.of(prediction["label"], max(prediction["shares"]))
        return {"text1": example.texts[0], "text2": example.texts[1], "label": found} | sure(found)


def _split(texts: tuple[str, ...], label: str | None, split: Split) -> ClassifiedPair:
    first, second = texts
    tokens = all_tokens(first, split), all_tokens(second, split)
    return ClassifiedPair((first.strip(), second.strip()), tokens, label)


TASK = TextPairs()
