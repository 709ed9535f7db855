"""Embeddings as HDF5, in the layout of AllenNLP's ``elmo`` command.

    "0", "1", …         a dataset for each record, in the order of the input: [L+1, N, W] or [N, W]; pooled: without N
    sentence_to_index   shape (1,), a JSON object text → key; of equal texts the last one counts; not for target words

AllenNLP's other layouts: a sentence may be its own key (``--use-sentence-keys``; a "/" in it makes groups), and the
index may be left out (``--forget-sentences``).

What AllenNLP does not keep stands in attributes, which its readers do not see: ``record`` (JSON: id, tokens, …) at
each dataset, with ``id`` and the columns of the input that go along, if any; ``polyseme`` (JSON: the job) at the root.
Same records, same bytes: no times, no random names. The layout holds all texts in one string, so memory grows with
them; Parquet has no such limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5o, h5p, h5s, h5t

from polyseme.embed.records import Contents, Record, describe, from_description
from polyseme.errors import InputError
from polyseme.formats.hdf5_file import Disk, walk_hdf5, written_hdf5
from polyseme.formats.hdf5_structure import Structure, TextReader, open_structure

IN_ONE_PASS = True
#: A file that promises more than this many times its own size is not made of vectors.
LARGEST_EXPANSION = 1000
_INDEX = "sentence_to_index"


def write(path: Path, contents: Contents) -> None:
    with written_hdf5(path, libver="earliest") as (file, disk):  # what every HDF5 since 1.8 can open
        file.attrs["polyseme"] = json.dumps(contents.about)
        _write_records(file, contents, disk)


def _write_records(file: h5py.File, contents: Contents, disk: Disk) -> None:
    index: dict[str, str] = {}
    put = _RecordWriter(file)
    by_sentence = contents.about.get("keys") == "sentences"
    with_index = not contents.for_words and not by_sentence and contents.about.get("sentence_index", True)
    for number, record in enumerate(contents.records()):
        if by_sentence:
            _check_key(record, file)
        key = record.text if by_sentence else str(number)
        put(key, record)
        if record.kept:
            attributes = file[key].attrs
            attributes["id"] = record.id
            attributes.update({name: value for name, value in record.kept.items() if value is not None})
        disk.raise_if_failed()
        if with_index:
            index[record.text] = str(number)
    if with_index:
        file.create_dataset(_INDEX, (1,), dtype=h5py.string_dtype())[0] = json.dumps(index)


def _check_key(record: Record, file: h5py.File) -> None:
    """Refuse a sentence that HDF5 cannot have as a name, or has already."""
    parts = record.text.split("/")
    if not all(parts) or set(parts) & {".", ".."} or "\0" in record.text:
        raise InputError(f"the sentence {record.text[:60]!r} cannot be a key in HDF5; use numbers")
    taken = record.text in file or any(
        isinstance(file.get("/".join(parts[:end])), h5py.Dataset) for end in range(1, len(parts))
    )
    if taken:
        raise InputError(
            f"the sentence {record.text[:60]!r} occurs in the text twice, so it cannot be a key; use numbers"
        )


class _RecordWriter:
    """Puts records into a file through h5py's low-level calls, which take half the time of its high-level ones."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file.id
        self._without_times = h5p.create(h5p.DATASET_CREATE)
        self._without_times.set_obj_track_times(False)
        self._with_groups = h5p.create(h5p.LINK_CREATE)
        self._with_groups.set_create_intermediate_group(True)
        self._with_groups.set_char_encoding(h5t.CSET_UTF8)
        self._string = h5t.py_create(h5py.string_dtype(), logical=True)
        self._scalar = h5s.create(h5s.SCALAR)
        self._kinds: dict[np.dtype[Any], h5t.TypeID] = {}
        self._spaces: dict[tuple[int, ...], h5s.SpaceID] = {}  # of every shape so far: a sentence has few lengths

    def __call__(self, key: str, record: Record) -> None:
        values = np.ascontiguousarray(record.values)
        kind, space = self._kind(values.dtype), self._space(values.shape)
        dataset = h5d.create(self._file, key.encode(), kind, space, self._without_times, self._with_groups)
        if values.size:
            dataset.write(h5s.ALL, h5s.ALL, values)
        attribute = h5a.create(dataset, b"record", self._string, self._scalar)
        attribute.write(np.array(describe(record), dtype=object))

    def _kind(self, dtype: np.dtype[Any]) -> h5t.TypeID:
        if dtype not in self._kinds:
            self._kinds[dtype] = h5t.py_create(dtype)
        return self._kinds[dtype]

    def _space(self, shape: tuple[int, ...]) -> h5s.SpaceID:
        if shape not in self._spaces:
            self._spaces[shape] = h5s.create_simple(shape)
        return self._spaces[shape]


def read(path: Path) -> Iterator[Record]:
    """Also reads what AllenNLP itself wrote: then the id is the key, and tokens are known where the text is."""
    most = LARGEST_EXPANSION * path.stat().st_size
    with _open(path) as reader:
        file, ours = reader.file, "polyseme" in reader.file.attrs
        texts = {} if ours else _texts(reader)
        by_sentence = ours and json.loads(reader.text(file, "polyseme")).get("keys") == "sentences"
        for number, key in enumerate(_in_order(reader) if by_sentence else _keys(reader)):
            dataset = reader.array(key)
            if dataset.nbytes > most:
                raise InputError(f"{path} promises {dataset.nbytes:,} bytes of vectors for {key!r}; it was not read")
            values = dataset[()]
            if "record" in dataset.attrs:
                yield from_description(reader.text(dataset, "record"), values)
            else:
                yield _foreign_record(number, key, texts, values)


def about(path: Path) -> dict[str, Any] | None:
    with _open(path) as reader:
        found = "polyseme" in reader.file.attrs
        return json.loads(reader.text(reader.file, "polyseme")) if found else None


@dataclass(frozen=True)
class _OpenFile:
    """A file, and its structure, which is looked at before libhdf5 follows it."""

    file: h5py.File
    structure: Structure
    texts: TextReader

    def check(self, item: Any) -> None:
        self.structure.check(h5o.get_info(item.id).addr)

    def array(self, key: str) -> Any:
        dataset = self.file[key]
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "fiu":
            raise InputError(f"{key!r} is not an array of numbers")
        self.check(dataset)
        return dataset

    def text(self, item: Any, name: str) -> str:
        found = self.texts.attribute(h5o.get_info(item.id).addr, name)
        if found is None:
            raise InputError(f"the attribute {name!r} is not where polyseme embed writes it")
        return found


@contextmanager
def _open(path: Path) -> Iterator[_OpenFile]:
    try:
        with open_structure(path) as structure:
            structure.check_root()
            with h5py.File(path, "r") as file:
                yield _OpenFile(file, structure, TextReader(structure))
    except OSError as error:
        raise InputError(f"{path} is not an HDF5 file that can be read ({' '.join(str(error).split())})") from None


def _keys(reader: _OpenFile) -> Iterator[str]:
    """The numbers in their order, or, in a file keyed by sentence, every dataset."""
    file = reader.file
    count = len(file) - (_INDEX in file)
    if count and all(str(number) in file for number in (0, count - 1)):
        return (str(number) for number in range(count))
    # A key is a sentence, and every slash in it makes a group.
    walked = walk_hdf5(file, "it", deepest=1000, check=reader.check)
    return (key for key, _ in walked if key != _INDEX)


def _in_order(reader: _OpenFile) -> list[str]:
    """The keys of a file of ours that is keyed by sentence: HDF5 sorts them, the records know their places."""
    places: dict[str, tuple[int, int]] = {}
    for key in _keys(reader):
        told = json.loads(reader.text(reader.file[key], "record"))
        places[key] = told["document"], told["sentence"]
    return sorted(places, key=places.__getitem__)


def _texts(reader: _OpenFile) -> dict[str, str]:
    """key → sentence, as far as ``sentence_to_index`` tells."""
    if _INDEX not in reader.file:
        return {}
    index = reader.file[_INDEX]
    place = index.id.get_offset()
    if place is None or index.shape != (1,) or h5py.check_string_dtype(index.dtype) is None:
        raise InputError(f"{_INDEX!r} is not one text, as AllenNLP writes it")
    return {key: text for text, key in json.loads(reader.texts.at(place)).items()}


def _foreign_record(number: int, key: str, texts: dict[str, str], values: np.ndarray[Any, Any]) -> Record:
    text = texts.get(key, "" if key.isdecimal() else key)
    none = np.empty((0, 2), np.int32)
    return Record(number, key, "", 0, 0, text, text.split(), none, values, has_layers=values.ndim == 3)
