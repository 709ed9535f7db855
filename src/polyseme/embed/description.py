"""What a job does, written down before it begins, so that it can only be resumed or merged as the same job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from polyseme.embed.kept import Kind, joint_kind
from polyseme.embed.records import Layers
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.jobs.manifests import InputFile, digest, read_manifest
from polyseme.settings import checked
from polyseme.text.readers import Document, read_documents

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

VERSION = 1  # of what a job makes: another one gives other bytes for the same input
CARRIED_BATCH = 64  # sentences, as AllenNLP's command has them unless told
Dtype = Literal["float32", "float16"]


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
