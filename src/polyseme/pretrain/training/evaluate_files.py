"""Files of any size → how well a stored model predicts each of their documents.

Documents are read in windows of about 65,000 tokens, so that memory does not grow with a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

from polyseme.errors import ConfigError, InputError
from polyseme.formats.model import StoredModel, output_layer
from polyseme.jobs.progress import windows
from polyseme.lm.likelihood import Likelihood, written_bytes
from polyseme.pretrain.training.build import trained_model
from polyseme.pretrain.training.parallel import Runner, one_after_the_other
from polyseme.pretrain.training.perplexity import evaluate, evaluate_in_order, warm_states
from polyseme.sentence_reader import State, card_language, card_state, warm_text
from polyseme.text.lines import STDIN
from polyseme.text.readers import Document, expand_inputs, kind_of, read_documents
from polyseme.text.tokenization import Language, known_language, split_text, units_of

Unit = Literal["line", "document"]

#: Tokens evaluated together; the result does not depend on it.
WINDOW_TOKENS = 1 << 16


@dataclass(frozen=True, slots=True)
class DocumentLikelihood:
    """The figures of one document."""

    source: str  #: its file, as given
    id: str  #: within its file
    likelihood: Likelihood


@dataclass(frozen=True, slots=True)
class _Split:
    """A document, split into sentences of tokens."""

    id: str
    sentences: list[list[str]]
    bytes: list[int]  #: UTF-8 bytes of each sentence, plus one for its end


def evaluate_files(
    stored: StoredModel,
    inputs: Sequence[str | Path],
    *,
    state: State | None = None,
    unit: Unit = "document",
    lang: Language | None = None,
    field: str | None = None,
    run: Runner = one_after_the_other,
) -> Iterator[DocumentLikelihood]:
    """The likelihood of each document of some files; a file without any text is an error.

    ``inputs``, ``unit`` and ``field`` are those of ``read_documents``. ``state`` is where sentences start: from zero
    ("reset"), from one fixed state ("warm"), or where the previous one in the document ended ("carry"); by default, as
    the model's card says.
    """
    state = state or card_state(stored)
    if state not in get_args(State):
        raise ConfigError(f"state is {state!r}, but should be one of: {', '.join(get_args(State))}")
    reader = _Reader(stored, state, run)
    read_documents(inputs, field=field, unit=unit)  # check all names now, not hours later
    sources, language = expand_inputs(inputs), known_language(lang) if lang else card_language(stored)

    def documents(source: str) -> Iterator[_Split]:
        of_a_table = field if kind_of(source) in ("jsonl", "csv", "tsv", "parquet") else None
        return (_split(document, language) for document in read_documents([source], field=of_a_table, unit=unit))

    return (found for source in sources for found in _evaluate_file(reader, source, documents(source)))


class _Reader:
    """A stored model that evaluates windows of documents."""

    def __init__(self, stored: StoredModel, state: State, run: Runner) -> None:
        _, self.vocabulary = output_layer(stored)
        self.model, self.indexer = trained_model(stored), stored.indexer
        self.state, self.run = state, run
        self.start = warm_states(self.model, self.indexer, warm_text(stored)) if state == "warm" else None

    def evaluate(self, documents: Sequence[_Split]) -> Iterator[Likelihood]:
        """The likelihood of each document."""
        texts = [document.sentences for document in documents]
        by_sentence: Iterator[Likelihood]
        if self.state == "carry":
            by_sentence = chain.from_iterable(
                evaluate_in_order(self.model, texts, self.vocabulary, self.indexer, self.run)
            )
        else:
            sentences = [sentence for text in texts for sentence in text]
            by_sentence = iter(
                evaluate(self.model, sentences, self.vocabulary, self.indexer, self.run, start=self.start)
            )
        for document in documents:
            found = (replace(next(by_sentence), bytes=size) for size in document.bytes)
            yield sum(found, Likelihood())


def _evaluate_file(reader: _Reader, source: str, documents: Iterable[_Split]) -> Iterator[DocumentLikelihood]:
    tokens = 0
    with_text = (document for document in documents if document.sentences)
    for window in windows(with_text, lambda document: sum(map(len, document.sentences)), WINDOW_TOKENS):
        for document, likelihood in zip(window, reader.evaluate(window), strict=True):
            tokens += likelihood.tokens
            yield DocumentLikelihood(source, document.id, likelihood)
    if not tokens:
        shown = "standard input" if source == STDIN else source
        raise InputError(f"{shown} has no text to evaluate; expected at least one sentence")


def _split(document: Document, lang: Language) -> _Split:
    if document.sentences is not None:
        sentences = [sentence for sentence in document.sentences if sentence]
        sizes = [written_bytes(" ".join(sentence)) for sentence in sentences]
        return _Split(document.id, [units_of(sentence, lang) for sentence in sentences], sizes)
    text = document.text or ""
    split = [sentence for sentence in split_text(text, lang) if sentence.tokens]
    sizes = [written_bytes(text[sentence.offsets[0][0] : sentence.offsets[-1][1]]) for sentence in split]
    return _Split(document.id, [sentence.tokens for sentence in split], sizes)
