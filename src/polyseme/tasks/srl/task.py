"""Semantic role labelling: for every predicate of a sentence, who does what to whom, when, where and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import InputError, quoted
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.scores import Floats, Scores, f1_of, precision_recall_f1
from polyseme.tasks.spans import Span, span_confusion, sure, tags_of
from polyseme.tasks.srl.data import (
    VERB,
    Frame,
    SrlSentence,
    new_sentence,
    read_srl,
    sentence_lines,
    with_frames,
)
from polyseme.tasks.srl.metrics import score_roles
from polyseme.tasks.srl.network import FrameBatch, RoleTagger, SrlSizes
from polyseme.tasks.tagged import one_sentence, tokens_of


@dataclass(frozen=True, slots=True)
class SrlExample:
    """A sentence; its predicates, if they are given; and its frames and lines, if it comes from a file."""

    words: tuple[str, ...]
    predicates: tuple[int, ...] | None
    gold: SrlSentence | None


PRESETS = {
    "paper": Preset(
        SrlSizes(),
        TrainingChoices(epochs=200, batch=32, rate=1.0, optimizer="adadelta", clip=1.0, patience=20, halve_after=0),
        # As the authors published it; word vectors are trained, as in He et al. (2017).
        InputChoices(elmo="input", elmo_dropout=0.1, word_vectors="trained"),
    ),
    "cpu": Preset(
        SrlSizes(hidden=100, depth=4, predicate_dim=32, detector=50),
        TrainingChoices(epochs=7, batch=24, rate=0.002, clip=1.0, patience=3, halve_after=1),
        InputChoices(elmo="input", elmo_dropout=0.1, characters=32),
    ),
}


class Srl(Definition[SrlExample, SrlSizes]):
    """CoNLL-2005, CoNLL-2012 and files like them."""

    name = "srl"
    title = "semantic roles"
    metric = "f1"
    by_sentence = True
    suffixes = (".props", "conll", ".txt", "")
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[SrlExample]:
        return [
            SrlExample(sentence.words, tuple(frame.predicate for frame in sentence.frames), sentence)
            for sentence in read_srl(path, FileReading.of(split))
        ]

    def examples(self, item: Any, split: Split) -> list[SrlExample]:
        """A text, tokens, or an object with a text or tokens and perhaps predicates (token numbers)."""
        if isinstance(item, dict) and item.get("predicates") is not None:
            return [_with_predicates(item)]
        return [_without_predicates(words) for words in one_sentence(item, split)]

    def sentences(self, example: SrlExample) -> Sequence[Sequence[str]]:
        return (example.words,)

    def vocabularies(self, examples: Sequence[SrlExample]) -> Vocabularies:
        """The tags of all roles; every token has one tag."""
        frames = (frame for example in examples if example.gold for frame in example.gold.frames)
        roles = sorted({span.label for frame in frames for span in frame.spans})
        return {"tags": ["O", *(f"{letter}-{role}" for role in roles for letter in "BI")]}

    def network(self, sizes: SrlSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> RoleTagger:
        return RoleTagger(sizes, vocabularies["tags"], tokens)

    def collate(self, examples: Sequence[SrlExample], vocabularies: Vocabularies, features: Features) -> FrameBatch:
        pairs = [(row, place) for row, example in enumerate(examples) for place in example.predicates or ()]
        tags = None
        if all(example.gold is not None for example in examples):
            tags = torch.zeros(len(pairs), max(len(example.words) for example in examples), dtype=torch.int64)
            frames = [
                (frame, len(example.words)) for example in examples if example.gold for frame in example.gold.frames
            ]
            numbers = {tag: number for number, tag in enumerate(vocabularies["tags"])}
            for row, (frame, count) in enumerate(frames):
                named = tags_of(frame.spans, count, "IOB2")  # a role not seen in training becomes O
                tags[row, :count] = torch.tensor([numbers.get(tag, 0) for tag in named])
        where = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
        given = [None if example.predicates is None else list(example.predicates) for example in examples]
        return FrameBatch(features([example.words for example in examples]), given, where[:, 0], where[:, 1], tags)

    def score(self, predictions: Sequence[Any], examples: Sequence[SrlExample]) -> Scores:
        """Scores of the roles of given predicates, and of finding the predicates themselves."""
        predicted, gold, places = list[Sequence[Span]](), list[Sequence[Span]](), [0, 0, 0]
        for found, example in zip(predictions, examples, strict=True):
            assert example.gold is not None, "a score needs roles"
            predicted += [_spans(frame) for frame in found["frames"]]
            gold += [frame.spans for frame in example.gold.frames]
            detected, there = set(found["detected"]), {frame.predicate for frame in example.gold.frames}
            sizes = (len(detected & there), len(detected), len(there))
            places = [total + size for total, size in zip(places, sizes, strict=True)]
        overall, roles = score_roles(predicted, gold)
        values = precision_recall_f1(*overall)
        del values["support"]
        values["predicate_f1"] = precision_recall_f1(*places)["f1"]
        confusion = span_confusion([_without_verb(spans) for spans in gold], [_without_verb(s) for s in predicted])
        return Scores(values, {role: precision_recall_f1(*score) for role, score in roles.items()}, confusion)

    def tally(self, prediction: Any, example: SrlExample) -> tuple[float, ...]:
        assert example.gold is not None, "a score needs roles"
        gold = [frame.spans for frame in example.gold.frames]
        return tuple(map(float, score_roles([_spans(frame) for frame in prediction["frames"]], gold)[0]))

    def from_tallies(self, sums: Floats) -> Floats:
        return f1_of(sums)

    def record(self, example: SrlExample, prediction: Any) -> dict[str, Any]:
        frames = []
        for frame in prediction["frames"]:
            roles = [
                {"role": span[0], "start": span[1], "end": span[2], "text": " ".join(example.words[span[1] : span[2]])}
                | sure(span)
                for span in frame["spans"]
            ]
            frames.append({"predicate": frame["predicate"], "word": example.words[frame["predicate"]], "roles": roles})
        return {"tokens": list(example.words), "frames": frames}

    def write(self, pairs: Iterable[tuple[SrlExample, Any]]) -> Iterator[str]:
        """Sentences from a file, unchanged but for their roles; others as CoNLL-2005. An empty line comes last."""
        is_new = False
        for number, (example, prediction) in enumerate(pairs):
            frames = [Frame(f["predicate"], example.words[f["predicate"]], _spans(f)) for f in prediction["frames"]]
            is_new = example.gold is None
            if example.gold is not None:
                sentence = with_frames(example.gold, frames)
            else:
                sentence = new_sentence(example.words, frames, is_first=number == 0)
            yield "".join(line + "\n" for line in sentence_lines(sentence))
        if is_new:
            yield "\n"


def _spans(frame: Mapping[str, Any]) -> tuple[Span, ...]:
    return tuple(Span(role, start, end) for role, start, end in frame["spans"])


def _without_verb(spans: Sequence[Span]) -> list[Span]:
    """The predicate is given, so it is not counted."""
    return [span for span in spans if span.label not in (VERB, f"C-{VERB}")]


def _without_predicates(words: tuple[str, ...]) -> SrlExample:
    if not words:
        raise InputError("semantic roles need a sentence of at least one token")
    return SrlExample(words, None, None)


def _with_predicates(item: dict[str, Any]) -> SrlExample:
    if "tokens" not in item:
        raise InputError('predicates are token numbers, so an object that has them needs "tokens", not a text')
    words, given = tokens_of(item["tokens"]), item["predicates"]
    if not isinstance(given, list) or not all(type(p) is int and 0 <= p < len(words) for p in given):
        raise InputError(f"predicates should be token numbers from 0 to {len(words) - 1}, not {quoted(given)}")
    return SrlExample(words, tuple(sorted(set(given))), None)


TASK = Srl()
