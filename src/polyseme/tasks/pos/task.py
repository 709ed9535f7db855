"""Parts of speech: a BiLSTM tagger for the universal tags of a CoNLL-U treebank. (The linear probe is in probes/.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.parts.tagger import Tagger, TaggerBatch, TaggerSizes, Tagging
from polyseme.tasks.scores import Scores, label_scores
from polyseme.tasks.spans import FoundLabel, sure
from polyseme.tasks.tagged import Block, cells, one_sentence, read_blocks, starts_document
from polyseme.tasks.treebank import read_treebank

NOT_COUNTED = -100  # target for padding, and for tags not seen in training


@dataclass(frozen=True, slots=True)
class PosSentence:
    """A sentence and its tags, None if they are to be predicted."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...] | None = None


def read_tags(path: Path, reading: FileReading | None = None) -> list[PosSentence]:
    """Words and universal tags of a treebank, or of two columns with a word and a tag of any kind."""
    if _has_two_columns(path):
        blocks = (block for block in read_blocks(path, _is_comment, reading) if block.lines)
        return [_two_columns(block, str(path)) for block in blocks if not starts_document(block)]
    found = read_treebank(path, "upos", reading)
    for number, sentence in enumerate(found, start=1):
        if "_" in sentence.tags or "" in sentence.tags:
            word = sentence.tokens[[tag in ("_", "") for tag in sentence.tags].index(True)]
            raise InputError(f"{path}, sentence {number}: the word {word!r} has no tag in the fourth column (UPOS)")
    return [PosSentence(sentence.tokens, sentence.tags) for sentence in found]


def _is_comment(line: str) -> bool:
    """ "# sent_id = 3", but not the word "#" and its tag."""
    return line.startswith("#") and len(cells(line)) != 2


def _has_two_columns(path: Path) -> bool:
    reading = FileReading(skip_bad_lines=True)  # they are reported when the file is read
    blocks = (block for block in read_blocks(path, lambda line: line.startswith("# "), reading) if block.lines)
    first = next((block for block in blocks if not starts_document(block)), None)
    return first is not None and len(cells(first.lines[0])) == 2


def _two_columns(block: Block, source: str) -> PosSentence:
    rows = [cells(line) for line in block.lines]
    for number, row in enumerate(rows):
        if len(row) != 2:
            raise InputError(f"{block.place(source, number)}: expected a word and its tag, found {len(row)} columns")
    words, tags = zip(*rows, strict=True)
    return PosSentence(words, tags)


class PosNetwork(Tagger):
    """Predicts the best tag of each word independently of its neighbours; a target may be NOT_COUNTED."""

    def forward(self, batch: TaggerBatch) -> Tensor:
        assert batch.tags is not None
        return nn.functional.cross_entropy(
            self.scores(batch.tokens).flatten(0, 1), batch.tags.flatten(), ignore_index=NOT_COUNTED
        )

    def predict(self, batch: TaggerBatch) -> list[list[FoundLabel]]:
        confidences, best = torch.softmax(self.scores(batch.tokens), dim=2).max(dim=2)  # [B, N] each
        rows = zip(best.tolist(), confidences.tolist(), batch.tokens.lengths.tolist(), strict=True)
        return [
            [FoundLabel.of(self.tags[tag], share) for tag, share in zip(tags[:length], shares[:length], strict=True)]
            for tags, shares, length in rows
        ]


PRESETS = {
    "paper": Preset(
        TaggerSizes(), TrainingChoices(epochs=50, batch=64, patience=10, halve_after=4), InputChoices(elmo_dropout=0.0)
    ),
    "cpu": Preset(
        TaggerSizes(hidden=100, depth=1),
        TrainingChoices(epochs=8, batch=32, rate=0.002, patience=3, halve_after=1),
        InputChoices(elmo_dropout=0.1, characters=50),
    ),
}


class Pos(Tagging[PosSentence]):
    """Accuracy over all words of a CoNLL-U treebank."""

    name = "pos"
    title = "parts of speech"
    metric = "accuracy"
    kind = PosNetwork
    no_tag = NOT_COUNTED
    suffixes = (".conllu", ".txt", ".tsv", "")
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[PosSentence]:
        return read_tags(path, FileReading.of(split))

    def examples(self, item: Any, split: Split) -> list[PosSentence]:
        return [PosSentence(tokens) for tokens in one_sentence(item, split)]

    def gold_tags(self, example: PosSentence) -> Sequence[str] | None:
        return example.tags

    def vocabularies(self, examples: Sequence[PosSentence]) -> Vocabularies:
        return {"tags": sorted({tag for example in examples for tag in example.tags or ()})}

    def score(self, predictions: Sequence[Any], examples: Sequence[PosSentence]) -> Scores:
        gold = list(chain.from_iterable(example.tags or () for example in examples))
        return label_scores(gold, list(chain.from_iterable(predictions)))

    def tally(self, prediction: Any, example: PosSentence) -> tuple[float, ...]:
        gold = example.tags or ()
        return float(sum(a == b for a, b in zip(prediction, gold, strict=True))), float(len(gold))

    def record(self, example: PosSentence, prediction: Any) -> dict[str, Any]:
        confidences = [found for tag in prediction for found in sure(tag).values()]
        return {"tokens": list(example.tokens), "tags": list(prediction), "confidences": confidences}

    def write(self, pairs: Iterable[tuple[PosSentence, Any]]) -> Iterator[str]:
        for example, tags in pairs:
            rows = [
                f"{number}\t{token}\t_\t{tag}" + "\t_" * 6 + "\n"
                for number, (token, tag) in enumerate(zip(example.tokens, tags, strict=True), start=1)
            ]
            yield "".join([*rows, "\n"])


TASK = Pos()
