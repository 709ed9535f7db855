"""Classification of texts with any labels, by the network for sentiment (McCann et al., 2017)."""

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
from polyseme.tasks.spans import sure
from polyseme.tasks.sst.network import TokenClassification
from polyseme.tasks.sst.task import PRESETS as OF_SENTIMENT


@dataclass(frozen=True, slots=True)
class ClassifiedText:
    """A text and its tokens, those of all its sentences in a row; the label is None if it is to be predicted."""

    text: str
    tokens: tuple[str, ...]
    label: str | None = None


PRESETS = {
    "paper": with_values(OF_SENTIMENT["paper"], {"batch": 64}, "text"),
    "cpu": with_values(OF_SENTIMENT["cpu"], {"epochs": 20, "batch": 64, "patience": 3, "characters": 32}, "text"),
}


class TextClasses(TokenClassification[ClassifiedText]):
    """Accuracy over texts."""

    name = "text"
    title = "text classification"
    suffixes = SUFFIXES
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[ClassifiedText]:
        found = read_labelled(path, pairs=False, reading=FileReading.of(split))
        return [_split(one.texts[0], one.label, split) for one in found]

    def examples(self, item: Any, split: Split) -> list[ClassifiedText]:
        if isinstance(item, dict):
            (item,) = named_texts(item, pairs=False) or (item,)
        if not isinstance(item, str) or not item.strip():
            raise InputError(f"expected a text, or an object with one, not {quoted(item)}")
        return [_split(item.strip(), None, split)]

    def record(self, example: ClassifiedText, prediction: Any) -> dict[str, Any]:
        return {"text": example.text, "label": prediction} | sure(prediction)


def _split(text: str, label: str | None, split: Split) -> ClassifiedText:
    return ClassifiedText(text, all_tokens(text, split), label)


TASK = TextClasses()
