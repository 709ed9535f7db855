"""Natural language inference with ESIM: does the hypothesis follow from the premise, contradict it, or neither?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, quoted
from polyseme.tasks.classification import all_tokens
from polyseme.tasks.data_files import DataFiles, FileReading, split_of
from polyseme.tasks.definition import Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.snli.data import LABELS, read_snli
from polyseme.tasks.snli.network import EsimSizes, PairClassification
from polyseme.text.lines import without_compression

_COLUMN_BREAKS = re.compile(r"[\t\r\n]+")


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Premise and hypothesis, their tokens, and the label; None where it is to be found."""

    texts: tuple[str, str]
    tokens: tuple[tuple[str, ...], tuple[str, ...]]
    label: str | None = None


PRESETS = {
    "paper": Preset(
        EsimSizes(),
        TrainingChoices(epochs=75, batch=32, rate=0.0004, clip=10.0, patience=5, halve_after=1),
        # As the authors published it: the encoder already drops half of its input.
        InputChoices(elmo="both", elmo_dropout=0.0, layer_norm=True),
    ),
    "cpu": Preset(
        EsimSizes(hidden=100, dropout=0.3),
        TrainingChoices(epochs=12, batch=32, rate=0.001, clip=10.0, patience=4, halve_after=2, looks=2000),
        InputChoices(elmo="both", elmo_dropout=0.1, characters=32),
    ),
}


class Snli(PairClassification[TokenPair]):
    """SNLI and files like it."""

    name = "snli"
    title = "natural language inference"
    suffixes = (".tsv", ".jsonl", ".txt")
    presets = PRESETS

    def find(self, folder: Path) -> DataFiles:
        """The files in a folder; those named snli_1.0_… take precedence over other data sets there."""
        official = sorted(folder.glob("snli_*"))
        found: dict[str | None, Path] = {}
        for suffix in reversed(self.suffixes):  # the preferred one last, so that it wins
            same = (path for path in official if without_compression(path.name).endswith(suffix))
            found |= {split_of(path.name): path for path in same}
        if "train" in found and "dev" in found:
            return DataFiles(found["train"], found["dev"], found.get("test"))
        return super().find(folder)

    def read(self, path: Path, split: Split) -> list[TokenPair]:
        """The pairs that have a label."""
        labelled = [pair for pair in self.read_to_predict(path, split) if pair.label is not None]
        if not labelled:
            raise InputError(f"{path} has no labelled pair: its annotators agree on none of them")
        return labelled

    def read_to_predict(self, path: Path, split: Split) -> list[TokenPair]:
        return [
            _split(pair.premise, pair.hypothesis, pair.label, split) for pair in read_snli(path, FileReading.of(split))
        ]

    def examples(self, item: Any, split: Split) -> list[TokenPair]:
        premise, hypothesis = _two_texts(item)
        return [_split(premise, hypothesis, None, split)]

    def vocabularies(self, examples: Sequence[TokenPair]) -> Vocabularies:
        return {"labels": list(LABELS)}

    def record(self, example: TokenPair, prediction: Any) -> dict[str, Any]:
        shares = dict(zip(LABELS, prediction["shares"], strict=True))
        premise, hypothesis = example.texts
        return {"premise": premise, "hypothesis": hypothesis, "label": prediction["label"], "probabilities": shares}

    def write(self, pairs: Iterable[tuple[TokenPair, Any]]) -> Iterator[str]:
        for example, prediction in pairs:
            premise, hypothesis = (_COLUMN_BREAKS.sub(" ", text) for text in example.texts)
            yield f"{prediction['label']}\t{premise}\t{hypothesis}\n"


def _split(premise: str, hypothesis: str, label: str | None, split: Split) -> TokenPair:
    return TokenPair((premise, hypothesis), (all_tokens(premise, split), all_tokens(hypothesis, split)), label)


def _two_texts(item: Any) -> tuple[str, str]:
    """Premise and hypothesis, from an object with these (or SNLI's sentence1 and sentence2) or a line with a tab."""
    premise: Any = None
    hypothesis: Any = None
    if isinstance(item, str) and item.count("\t") == 1:
        premise, hypothesis = item.split("\t")
    elif isinstance(item, dict):
        premise = item.get("premise", item.get("sentence1"))
        hypothesis = item.get("hypothesis", item.get("sentence2"))
    if not (isinstance(premise, str) and premise.strip() and isinstance(hypothesis, str) and hypothesis.strip()):
        raise InputError(
            "inference needs a premise and a hypothesis (an object, or two texts separated by a tab), "
            f"not {quoted(item)}"
        )
    return premise.strip(), hypothesis.strip()


TASK = Snli()
