"""What a job does, written down before it begins, so that it can only be resumed or merged as the same job."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from polyseme import __version__
from polyseme.embed.records import Layers
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.files.atomic import replace_when_complete
from polyseme.text.readers import Document, read_documents

Dtype = Literal["float32", "float16"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the vectors are to be."""

    layers: Layers = "average"
    dtype: Dtype = "float32"
    pool: Literal["mean"] | None = None
    words: tuple[str, ...] = ()  # of any case; all words if empty
    kind: str | None = None
    field: str | None = None

    def __post_init__(self) -> None:
        if self.layers not in get_args(Layers):
            raise ConfigError(f"layers is {self.layers!r}; expected one of {', '.join(get_args(Layers))}")
        if self.dtype not in get_args(Dtype):
            raise ConfigError(f"dtype is {self.dtype!r}; expected one of {', '.join(get_args(Dtype))}")
        if self.pool not in (None, "mean"):
            raise ConfigError(f"pool is {self.pool!r}; expected mean")
        if self.pool and self.words:
            raise ConfigError("pool gives one vector for a whole document and words one for a word; choose one of them")
        for word in self.words:
            if len(word.split()) != 1:
                raise ConfigError(f"{word!r} is no single word; give words as in present,bank")


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input as it was when the job began."""

    name: str
    size: int
    sha256: str


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
    version: str = __version__

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def about(self) -> dict[str, Any]:
        """What a finished file says of itself."""
        told = asdict(self)
        del told["shards"]  # the file is the same whoever computed it
        return {**told.pop("options"), **told, "job": replace(self, shards=1).digest}

    def write(self, path: Path) -> None:
        with replace_when_complete(path) as file:
            file.write(json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def read(cls, path: Path) -> Description:
        try:
            data = json.loads(path.read_bytes())
            told = data.pop("options")
            options = Options(**{**told, "words": tuple(told["words"])})
            return cls(options=options, inputs=tuple(InputFile(**one) for one in data.pop("inputs")), **data)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise JobError(f"{path} does not describe a job that can be resumed ({error}); delete its folder") from None

    def refuse_other(self, earlier: Description, folder: Path) -> None:
        """Raise unless ``earlier``, found in ``folder``, is the same job as this one."""
        remedy = f"undo that, or delete {folder} to start from the beginning"
        for was, now in zip(earlier.inputs, self.inputs, strict=False):
            if was.name == now.name and was != now:
                raise JobError(f"{now.name} has changed since the job began, so it cannot be resumed; {remedy}")
        if earlier.inputs != self.inputs:
            names = ", ".join(one.name for one in earlier.inputs)
            raise JobError(f"the job began with other inputs ({names}), so it cannot be resumed; {remedy}")
        if earlier.model != self.model:
            raise JobError(f"the job began with another model, so it cannot be resumed; {remedy}")
        before, after = _flat(earlier), _flat(self)
        changed = [f"{name} was {before[name]}, is {after[name]}" for name in before if before[name] != after[name]]
        if changed:
            raise JobError(f"the job began otherwise ({'; '.join(changed)}), so it cannot be resumed; {remedy}")


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


def describe_input(source: str) -> InputFile:
    """Name, size and digest of a file."""
    digest, size = hashlib.sha256(), 0
    try:
        with Path(source).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return InputFile(source, size, digest.hexdigest())


def _flat(description: Description) -> dict[str, Any]:
    told = asdict(description)
    return {**told.pop("options"), **{name: told[name] for name in ("lang", "state", "shards", "version")}}
