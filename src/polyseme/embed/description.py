"""What a job does, written down before it begins, so that it can only be resumed or merged as the same job."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polyseme.embed.records import Layers
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.jobs.identity import digest
from polyseme.jobs.input_files import InputFile
from polyseme.jobs.manifests import read_manifest
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

    def __post_init__(self) -> None:
        checked(self)
        if self.batch_size is not None and self.batch_size < 1:
            raise ConfigError(f"batch_size is {self.batch_size}, but a batch has at least one sentence")
        if self.keys == "sentences" and (self.pool or self.words):
            raise ConfigError("only whole sentences can be keys; leave pool and words out")
        if self.pool and self.words:
            raise ConfigError("pool gives one vector for a whole document and words one for a word; choose one of them")
        for word in self.words:
            if len(word.split()) != 1:
                raise ConfigError(f"{word!r} is no single word; give words as in present,bank")

    def for_model(self, elmo: Elmo) -> Options:
        """With everything said that the model decides."""
        batch = self.batch_size
        if elmo.state == "carry":
            if self.words:
                raise ConfigError(
                    "a carried state depends on every sentence, so words cannot be picked; leave them out"
                )
            batch = batch or CARRIED_BATCH
        elif batch is not None:
            raise ConfigError('sentences have a batch size where their state is carried; add the state "carry"')
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


def survey(sources: list[str], options: Options) -> tuple[int, int]:
    """(documents, characters) of all inputs; reads each to its end, so that bad input is known before hours of work."""
    documents = characters = 0
    for document in read_documents(sources, kind=options.kind, field=options.field):
        documents += 1
        characters += size_of(document)
    return documents, characters


def size_of(document: Document) -> int:
    """Its characters."""
    if document.text is not None:
        return len(document.text)
    return sum(len(token) for tokens in document.sentences or [] for token in tokens)
