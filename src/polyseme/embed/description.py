"""What a job does, written down before it begins, so that it can only be resumed or merged as the same job.

Its documents become sentences on their way to the engine, each with its place, so that it can go on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as dataclass_field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyseme.embed.records import Kind, Layers, joint_kind
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.jobs.manifests import InputFile, digest, read_manifest
from polyseme.settings import checked
from polyseme.text.readers import Document, read_documents
from polyseme.text.tokenization import Sentence

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

VERSION = 1  # of what a job makes: another one gives other bytes for the same input
CARRIED_BATCH = 64  # sentences, as AllenNLP's command has them unless told
Dtype = Literal["float32", "float16"]
Position = tuple[int, int]  # (document, sentence): the next to be done
Split = Callable[[str], list[Sentence]]
Offsets = NDArray[np.int32]  # [N, 2]


@dataclass(frozen=True, slots=True)
class Options:
    """What the vectors are to be."""

    layers: Layers | None = None  # as the model mixes them: the mean, or the sum
    dtype: Dtype = "float32"
    pool: Literal["mean"] | None = None
    words: tuple[str, ...] = ()  # of any case; all words if empty
    kind: str | None = None
    field: str | None = None
    batch_size: int | None = None  # sentences in a batch, where state is carried from batch to batch
    keys: Literal["numbers", "sentences"] = "numbers"  # of HDF5
    sentence_index: bool = True  # of HDF5: which sentence has which key
    id: str | None = None  # the column of ids
    keep: tuple[str, ...] = ()  # columns that go along

    def __post_init__(self) -> None:
        checked(self)
        if self.batch_size is not None and self.batch_size < 1:
            raise ConfigError(f"batch_size is {self.batch_size}, but a batch has at least one sentence")
        if self.keys == "sentences" and (self.pool or self.words):
            raise ConfigError("only whole sentences can be keys; leave pool and words out")
        if self.pool and self.words:
            raise ConfigError("pool gives one vector per document and words one per word; choose one of them")
        for word in self.words:
            if len(word.split()) != 1:
                raise ConfigError(f"{word!r} is not a single word; give words as in present,bank")

    def documents(self, sources: Sequence[str]) -> Iterator[Document]:
        """The documents of the inputs, with the columns that are asked for."""
        return read_documents(sources, kind=self.kind, field=self.field, id=self.id, keep=self.keep)

    def for_model(self, elmo: Elmo) -> Options:
        """With everything said that the model decides."""
        batch = self.batch_size
        if elmo.state == "carry":
            if self.words:
                raise ConfigError(
                    "a carried state depends on every sentence, so words cannot be selected; leave them out"
                )
            batch = batch or CARRIED_BATCH
        elif batch is not None:
            raise ConfigError('a batch size belongs to a carried state; add the state "carry"')
        return replace(self, layers=self.layers or ("sum" if set(elmo.mix) == {1.0} else "average"), batch_size=batch)


@dataclass(frozen=True, slots=True)
class Description:
    """A job: equal descriptions give equal files."""

    options: Options
    inputs: tuple[InputFile, ...]
    model: str  # its fingerprint
    lang: str
    state: str
    shards: int
    documents: int  # in all inputs
    characters: int
    kept: dict[str, Kind] = dataclass_field(default_factory=dict)  # the type of each column that goes along
    version: int = VERSION

    @property
    def digest(self) -> str:
        return digest([self.version, self])

    def about(self) -> dict[str, Any]:
        """What a finished file says of itself."""
        told = asdict(self)
        del told["shards"]  # the file is the same whoever computed it
        return {**told.pop("options"), **told, "job": replace(self, shards=1).digest}

    @classmethod
    def read(cls, path: Path) -> Description:
        try:
            return read_manifest(path, cls, VERSION)
        except InputError as problem:
            raise JobError(f"the job in {path.parent} cannot be resumed: {problem}; delete its folder") from None


class Survey(NamedTuple):
    """What is in all inputs."""

    documents: int
    characters: int
    kept: dict[str, Kind]


def survey(sources: list[str], options: Options) -> Survey:
    """Reads every input to its end, so that bad input is known before hours of work."""
    documents = characters = 0
    kinds: dict[str, Kind | None] = dict.fromkeys(options.keep)
    for document in options.documents(sources):
        documents += 1
        characters += size_of(document)
        for name in options.keep:
            kinds[name] = joint_kind(kinds[name], document.kept.get(name))
    return Survey(documents, characters, {name: kind or "text" for name, kind in kinds.items()})


def size_of(document: Document) -> int:
    """Its characters."""
    if document.text is not None:
        return len(document.text)
    return sum(len(token) for tokens in document.sentences or [] for token in tokens)


@dataclass(frozen=True, slots=True)
class Shard:
    """The share of one machine: every ``count``-th document, beginning with number ``index`` (from 0)."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """ "2/8" → the second of eight."""
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ConfigError(f"{text!r} is not a share; expected i/n with i from 1 to n, as in 2/8")
        return cls(int(index) - 1, int(count))

    @property
    def name(self) -> str:
        return f"{self.index + 1}-of-{self.count}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a document."""

    document: Document
    number: int  # of the document among all inputs
    whole: str  # the document's text; for tokenised input its tokens with spaces between
    sentence: int
    tokens: list[str]
    offsets: Offsets = dataclass_field(compare=False)  # into the whole text
    is_last: bool  # of its document

    @property
    def bounds(self) -> tuple[int, int]:
        """Where the sentence begins and ends in the whole text."""
        return (int(self.offsets[0, 0]), int(self.offsets[-1, 1])) if len(self.offsets) else (0, 0)

    @property
    def next(self) -> Position:
        """Where a job goes on after this sentence."""
        return (self.number + 1, 0) if self.is_last else (self.number, self.sentence + 1)


def read_passages(
    documents: Iterable[Document], split: Split, *, shard: Shard, start: Position = (0, 0)
) -> Iterator[Passage]:
    """The sentences of the share, from ``start`` on; what comes before is read but not tokenised."""
    for number, document in enumerate(documents):
        if number % shard.count == shard.index and number >= start[0]:
            first = start[1] if number == start[0] else 0
            yield from _split_document(number, document, split)[first:]


def _split_document(number: int, document: Document, split: Split) -> list[Passage]:
    """All sentences; an empty document has one empty sentence, so that every document leaves a trace."""
    if document.text is None:
        whole, sentences = _lay_out(document.sentences or [])
    else:
        whole, sentences = document.text, split(document.text)
    sentences = sentences or [Sentence([], [])]
    last = len(sentences) - 1
    return [
        Passage(document, number, whole, index, sentence.tokens, _pairs(sentence.offsets), index == last)
        for index, sentence in enumerate(sentences)
    ]


def _pairs(offsets: list[tuple[int, int]]) -> Offsets:
    """As an array: thousands of tuples that wait for their window would keep the garbage collector busy."""
    return np.fromiter(chain.from_iterable(offsets), np.int32, 2 * len(offsets)).reshape(-1, 2)


def _lay_out(sentences: list[list[str]]) -> tuple[str, list[Sentence]]:
    """A text for sentences that came as tokens: a space between tokens, a line for each sentence."""
    lines, laid_out, start = [], [], 0
    for tokens in sentences:
        offsets = []
        for token in tokens:
            offsets.append((start, start + len(token)))
            start += len(token) + 1
        start += not tokens
        lines.append(" ".join(tokens))
        laid_out.append(Sentence(tokens, offsets))
    return "\n".join(lines), laid_out
