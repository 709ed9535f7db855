"""Coreference: which words and phrases of a document refer to the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import InputError
from polyseme.tasks.coref.data import (
    NOTHING,
    CorefDocument,
    document_lines,
    genre_of,
    new_document,
    read_coref,
    without_singletons,
)
from polyseme.tasks.coref.metrics import chain_tally, conll_of, score_chains
from polyseme.tasks.coref.network import CorefSizes, DocumentBatch, SpanRanker
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.parts.paragraphs import text_batch
from polyseme.tasks.scores import Floats, Scores
from polyseme.tasks.tagged import breaks_columns, tokens_of

PRESETS = {
    "paper": Preset(
        CorefSizes(),
        TrainingChoices(epochs=150, batch=1, patience=20, halve_after=5),
        InputChoices(elmo="input"),
    ),
    "cpu": Preset(
        CorefSizes(hidden=100, scorer=100, kept=0.25, antecedents=60, training_sentences=15, input_dropout=0.4),
        TrainingChoices(epochs=12, batch=1, rate=0.002, patience=6, halve_after=3),
        InputChoices(elmo="input", elmo_dropout=0.1, characters=32),
    ),
}


class Coref(Definition[CorefDocument, CorefSizes]):
    """CoNLL-2012 and files like it; chains of one mention are left out, since OntoNotes has none."""

    name = "coref"
    title = "coreference"
    metric = "conll"
    suffixes = ("conll", "")
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[CorefDocument]:
        return [without_singletons(document) for document in read_coref(path, FileReading.of(split))]

    def examples(self, item: Any, split: Split) -> list[CorefDocument]:
        """A text, one sentence of tokens, or an object with a text, tokens or sentences (and perhaps an id)."""
        name = str(item.get("id", NOTHING)) if isinstance(item, dict) else NOTHING
        if breaks_columns(name):
            raise InputError(f"the id {name[:40]!r} must not contain a tab or line break: it is written in a column")
        if isinstance(item, dict):
            item = item.get("sentences", item.get("tokens", item.get("text", item)))
        if isinstance(item, str):
            return [new_document(name, [sentence.tokens for sentence in split(item)], {})]
        is_list = isinstance(item, list | tuple)
        sentences = item if is_list and any(isinstance(part, list | tuple) for part in item) else [item]
        found = [tokens_of(sentence) for sentence in sentences]
        if not all(found):
            raise InputError("coreference needs sentences of at least one token")
        return [new_document(name, found, {})]

    def sentences(self, example: CorefDocument) -> Sequence[Sequence[str]]:
        return example.sentences

    def for_training(self, examples: list[CorefDocument], network: CorefSizes) -> list[CorefDocument]:
        """The documents cut into pieces of a few sentences; pieces without mentions are left out."""
        pieces = [piece for example in examples for piece in cut_document(example, network.training_sentences)]
        return [piece for piece in pieces if piece.chains]

    def vocabularies(self, examples: Sequence[CorefDocument]) -> Vocabularies:
        return {"genres": sorted({genre for example in examples if (genre := genre_of(example.name))})}

    def network(self, sizes: CorefSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> SpanRanker:
        return SpanRanker(sizes, vocabularies["genres"], tokens)

    def collate(
        self, examples: Sequence[CorefDocument], vocabularies: Vocabularies, features: Features
    ) -> list[DocumentBatch]:
        return [_document_batch(example, vocabularies["genres"], features) for example in examples]

    def score(self, predictions: Sequence[Any], examples: Sequence[CorefDocument]) -> Scores:
        found = [[[(start, end) for start, end in chain] for chain in chains] for chains in predictions]
        gold = [list(example.chains.values()) for example in examples]
        return Scores(score_chains(zip(found, gold, strict=True)))

    def tally(self, prediction: Any, example: CorefDocument) -> tuple[float, ...]:
        found = [[(start, end) for start, end in chain] for chain in prediction]
        return chain_tally(found, list(example.chains.values()))

    def from_tallies(self, sums: Floats) -> Floats:
        return conll_of(sums)

    def record(self, example: CorefDocument, prediction: Any) -> dict[str, Any]:
        words = example.words
        chains = [
            [{"start": start, "end": end, "text": " ".join(words[start:end])} for start, end in chain]
            for chain in prediction
        ]
        named = {} if example.name == NOTHING else {"id": example.name}
        return named | {"sentences": [list(sentence) for sentence in example.sentences], "chains": chains}

    def write(self, pairs: Iterable[tuple[CorefDocument, Any]]) -> Iterator[str]:
        """CoNLL-2012; new documents with the same name, or none, become parts 0, 1, …, which scorers tell apart."""
        parts = Counter[str]()
        for example, prediction in pairs:
            chains = {number: tuple((start, end) for start, end in chain) for number, chain in enumerate(prediction)}
            part = example.part
            if not example.lines:
                part = parts[example.name]
                parts[example.name] += 1
            yield "".join(line + "\n" for line in document_lines(replace(example, part=part, chains=chains)))


def cut_document(document: CorefDocument, longest: int) -> list[CorefDocument]:
    """Cut a document into pieces of at most ``longest`` sentences, with their mentions.

    A mention whose chain is otherwise in other pieces stays: it is still a mention, though without an antecedent. In
    pieces of 15 sentences of OntoGUM that is one mention in ten.
    """
    pieces, start = list[CorefDocument](), 0
    for first in range(0, len(document.sentences), longest):
        sentences = document.sentences[first : first + longest]
        end = start + sum(map(len, sentences))
        chains = {
            number: here
            for number, mentions in document.chains.items()
            if (here := tuple((a - start, b - start) for a, b in mentions if start <= a and b <= end))
        }
        pieces.append(CorefDocument(document.name, document.part, sentences, document.speakers[start:end], chains))
        start = end
    return pieces


def _document_batch(document: CorefDocument, genres: list[str], features: Features) -> DocumentBatch:
    numbers = {NOTHING: 0}
    speakers = [numbers.setdefault(speaker, len(numbers)) for speaker in document.speakers]
    genre = genre_of(document.name)
    mentions = [
        (start, end - 1, number)
        for number, chain in enumerate(document.chains.values(), start=1)
        for start, end in chain
    ]
    return DocumentBatch(
        text=text_batch([document.sentences], features),
        sentences=torch.tensor([len(sentence) for sentence in document.sentences], dtype=torch.int64),
        speakers=torch.tensor(speakers, dtype=torch.int64),
        genre=torch.tensor(1 + genres.index(genre) if genre in genres else 0),
        mentions=torch.tensor(mentions, dtype=torch.int64).reshape(-1, 3),
    )


TASK = Coref()
