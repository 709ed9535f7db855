"""Records of an embedding file: a sentence, a pooled document or a target word, with its vectors; and the file formats.

What a file is made from, which format its suffix stands for, and how it is read back. Columns of the input that
go along have one type each, whatever single records hold.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import ConfigError, InputError, PolysemeError
from polyseme.mixing import mix_weights, mixed

#: What a file that is being written gathers: large writes take the system a fraction of what small ones do.
BUFFER_BYTES = 1 << 20

Layers = Literal["all", "top", "average", "sum"]
Floats = NDArray[np.floating[Any]]
Kind = Literal["truth", "whole", "number", "text"]

#: What stands for a null where a type has none.
_NULL: dict[Kind, Any] = {"truth": False, "whole": 0, "number": np.nan, "text": ""}
_DTYPE: dict[Kind, Any] = {"truth": np.bool_, "whole": np.int64, "number": np.float64, "text": np.str_}


@dataclass(frozen=True, slots=True)
class Record:
    """``values`` holds what was asked for, in the type of the file.

                      every layer       top or average
    a sentence        [L+1, N, W]       [N, W]
    a pooled document [L+1, W]          [W]
    a target word     [L+1, W]          [W]
    """

    document: int  # number of the document among all inputs, from 0
    id: str  # of the document within its file
    source: str  # the file's name as given
    sentence: int  # number of the sentence within its document
    start: int  # where the text begins within its document's text
    text: str
    tokens: list[str]
    offsets: NDArray[np.int32]  # [N, 2] into the text
    values: Floats
    has_layers: bool  # whether the first axis of values are the layers
    position: int | None = None  # of the target word among the tokens
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns of the input that went along, by name
    described: str | None = field(default=None, compare=False, repr=False)  # all but the values, once it is known

    @property
    def layers(self) -> Floats:
        """Every layer, if the file has them."""
        if not self.has_layers:
            raise InputError("this file holds one vector for each token, not every layer; embed with --layers all")
        return self.values

    @property
    def vectors(self) -> Floats:
        """One vector for each token (pooled, or for a target word: one): the file's, or the mean of its layers."""
        return choose_layers(self.values, "average") if self.has_layers else self.values

    @property
    def word(self) -> str | None:
        """The target word as it stands in the text, if this is the record of one."""
        return None if self.position is None else self.tokens[self.position]


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DESCRIBED = ("document", "id", "source", "sentence", "start", "text", "tokens", "has_layers", "position")


def describe(record: Record) -> str:
    """Everything but the values, as one line of JSON: parts, HDF5 and .npz keep it in this form."""
    if record.described is not None:
        return record.described
    fields = {name: getattr(record, name) for name in _DESCRIBED}
    fields["offsets"] = record.offsets.ravel().tolist()
    if record.kept:
        fields["kept"] = dict(record.kept)
    described = _compact.encode(fields)
    object.__setattr__(record, "described", described)  # a part and the file beside it both ask
    return described


def from_description(described: str | bytes, values: Floats) -> Record:
    """The record that `describe` described."""
    text = described if isinstance(described, str) else described.decode()
    fields = json.loads(text)
    fields["offsets"] = np.array(fields["offsets"], np.int32).reshape(-1, 2)
    return Record(**fields, values=values, described=text)


def choose_layers(layers: Floats, which: Layers) -> Floats:
    """[L+1, …, W] → the same, its last layer, or the mean (AllenNLP's ``--average``) or sum (SeqVec's) of all."""
    return layers if which == "all" else mixed(layers, mix_weights(None if which == "average" else which, len(layers)))


def rows_of(record: Record) -> int:
    """How many vectors (of one layer) a record holds."""
    per_token = record.values.ndim - record.has_layers == 2
    return record.values.shape[-2] if per_token else 1


_FORMATS = {
    ".hdf5": "polyseme.embed.hdf5",
    ".h5": "polyseme.embed.hdf5",
    ".parquet": "polyseme.embed.parquet",
    ".npz": "polyseme.embed.npz",
    ".npy": "polyseme.embed.npy",
    ".jsonl": "polyseme.embed.jsonl",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that goes into one file; ``records()`` and ``headers()`` may be called more than once."""

    records: Callable[[], Iterator[Record]]
    headers: Callable[[], Iterator[Record]]  # the same records without their values
    rows: int
    about: dict[str, Any]  # the job: kept in the file, so that it says where it comes from

    @property
    def for_words(self) -> bool:
        return bool(self.about.get("words"))

    @property
    def kept(self) -> dict[str, Kind]:
        """The columns that go along, each with its type."""
        return dict(self.about.get("kept") or {})

    @property
    def pooled(self) -> bool:
        return bool(self.about.get("pool"))


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """One format: ``write(path, contents)``, ``read(path)``, and ``about(path)``: the job that wrote it, or None.

    ``in_one_pass``: all that ``write`` takes of the contents are the records, once.
    """

    write: Callable[[Path, Contents], None]
    read: Callable[[Path], Iterator[Record]]
    about: Callable[[Path], dict[str, Any] | None]
    in_one_pass: bool


def output_format(path: Path) -> OutputFormat:
    """The format of ``path`` by its suffix; its packages are there when this returns."""
    name = _FORMATS.get(path.suffix.lower())
    if name is None:
        found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise ConfigError(f"{path} has {found}; expected one of {', '.join(_FORMATS)}")
    module = import_module(name)
    return OutputFormat(module.write, module.read, module.about, module.IN_ONE_PASS)


def read(path: str | Path) -> Iterator[Record]:
    """The records of an embedding file, one after another, in the order of the input.

    for record in polyseme.embed.read("vectors.h5"):
        record.id, record.tokens, record.vectors

    A folder of Parquet shards, as a Ray cluster writes it, reads like one file.
    """
    path = Path(path)
    if path.is_dir():
        return heapq.merge(*map(_records_of, _shards(path)), key=lambda record: record.document)
    if not path.is_file():
        raise InputError(f"{path} does not exist, or is not a file")
    return _records_of(path)


def about(path: str | Path) -> dict[str, Any] | None:
    """The job that wrote the file: model, options, inputs; None if it says nothing of it."""
    path = _shards(Path(path))[0] if Path(path).is_dir() else Path(path)
    with _damage_named(path):
        return output_format(path).about(path)


def _records_of(path: Path) -> Iterator[Record]:
    form = output_format(path)

    def records() -> Iterator[Record]:
        with _damage_named(path):
            yield from form.read(path)

    return records()


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """The libraries behind the formats fail in a dozen ways on damaged bytes, and all of them mean this."""
    try:
        yield
    except (PolysemeError, GeneratorExit):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(
            f"{path} is damaged, or was not written by polyseme embed ({reason}); write it again"
        ) from None


def _shards(folder: Path) -> list[Path]:
    shards = sorted(folder.glob("*.parquet"))
    if not shards:
        raise InputError(f"{folder} is a folder without Parquet shards; give an embedding file")
    return shards


def joint_kind(known: Kind | None, value: Any) -> Kind | None:
    """The type that holds what was seen so far and this value; None while there were only nulls."""
    if value is None:
        return known
    kind: Kind = (
        "truth"
        if isinstance(value, bool)
        else "whole"
        if isinstance(value, int) and -(2**63) <= value < 2**63
        else "number"
        if isinstance(value, float)
        else "text"
    )
    if known is None or known == kind:
        return kind
    return "number" if {known, kind} == {"whole", "number"} else "text"


def as_kind(value: Any, kind: Kind) -> Any:
    """The value in its column's type; null stays null."""
    if value is None:
        return None
    if kind == "number":
        return float(value)
    return value if kind != "text" or isinstance(value, str) else json.dumps(value)


def as_array(values: list[Any], kind: Kind) -> NDArray[Any]:
    """A numpy array that needs no pickle: null is NaN, an empty text, 0 or False."""
    if kind == "whole" and None in values:
        kind = "number"
    found = [_NULL[kind] if value is None else as_kind(value, kind) for value in values]
    return np.array(found, dtype=_DTYPE[kind])
