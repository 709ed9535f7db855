"""Embeddings as .npz: one array with the vectors of all records, one below the other.

    vectors         [rows, W], or [rows, L+1, W] with every layer; rows are tokens, pooled documents or target words
    starts          [records + 1]: record i has the rows starts[i] … starts[i+1]
    ids             [records] text: the id of each record's document
    keep.NAME       [records]: a column of the input that went along
    records         [bytes]: a line of JSON for each record: id, tokens, offsets, … (``records.tobytes().decode()``)
    about           text: the job, as JSON

``numpy.load("x.npz")["vectors"]`` is the matrix, and every member is an array that needs no pickle. Members are stored,
not compressed, with a fixed date.
"""

from __future__ import annotations

import io
import json
import zipfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy

from polyseme.embed.records import BUFFER_BYTES, Contents, Record, as_array, describe, from_description, rows_of
from polyseme.errors import InputError

IN_ONE_PASS = False  # the number of rows stands before them


def write(path: Path, contents: Contents) -> None:
    with (
        path.open("wb", buffering=BUFFER_BYTES) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        with _member(archive, "vectors.npy") as member:
            starts = write_matrix(member, contents)
        _put(archive, "starts", np.frombuffer(starts, np.int64).astype("<i8"))
        _put(archive, "ids", _texts([record.id for record in contents.headers()]))
        for name, kind in contents.kept.items():
            _put(archive, f"keep.{name}", as_array([record.kept.get(name) for record in contents.headers()], kind))
        size = sum(len(describe(record).encode()) + 1 for record in contents.headers())
        with _member(archive, "records.npy") as member:
            write_npy_header(member, (size,), np.dtype(np.uint8))
            for record in contents.headers():
                member.write(describe(record).encode() + b"\n")
        _put(archive, "about", np.array(json.dumps(contents.about)))


def write_matrix(file: IO[bytes], contents: Contents) -> array[int]:
    """The vectors of all records as one .npy; gives where each record's rows begin, and the end."""
    starts = array("q", [0])
    begun = False
    for record in contents.records():
        rows = _rows_first(record)
        if not begun:
            write_npy_header(file, (contents.rows, *rows.shape[1:]), rows.dtype)
            begun = True
        file.write(cast(Any, np.ascontiguousarray(rows).reshape(-1).view(np.uint8)).data)
        starts.append(starts[-1] + len(rows))
    if not begun:
        write_npy_header(file, (0,), np.dtype(contents.about["dtype"]))
    return starts


def read_matrix(vectors: IO[bytes], headers: Iterable[bytes], *, per_token: bool) -> Iterator[Record]:
    """The records whose vectors stand in a .npy and whose descriptions are lines of JSON."""
    shape, dtype = read_npy_header(vectors)
    for line in headers:
        bare = from_description(line.removesuffix(b"\n"), np.empty(0, dtype))
        rows = len(bare.tokens) if per_token else 1
        data = vectors.read(rows * dtype.itemsize * int(np.prod(shape[1:])))
        values = np.frombuffer(data, dtype).reshape(rows, *shape[1:])  # [N, L+1, W] or [N, W]
        yield replace(bare, values=np.moveaxis(values, 0, -2) if per_token else values[0])


def read(path: Path) -> Iterator[Record]:
    with _open(path) as archive:
        described = _about(archive)
        if described is None:
            raise InputError(f"{path} was not written by polyseme embed; read it with numpy.load")
        per_token = not described["pool"] and not described["words"]
        first = "records.jsonl" in archive.namelist()  # as version 1 of the layout named it, without a header
        with (
            archive.open("vectors.npy") as vectors,
            archive.open("records." + ("jsonl" if first else "npy")) as headers,
        ):
            if not first:
                read_npy_header(headers)
            yield from read_matrix(vectors, headers, per_token=per_token)


def about(path: Path) -> dict[str, Any] | None:
    with _open(path) as archive:
        return _about(archive)


def _rows_first(record: Record) -> np.ndarray[Any, Any]:
    """[L+1, N, W] → [N, L+1, W]: rows of records can then stand one below the other."""
    per_token = record.values.ndim - record.has_layers == 2
    values = np.moveaxis(record.values, -2, 0) if per_token else record.values[None]
    assert len(values) == rows_of(record)
    return values


@contextmanager
def _member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o644 << 16
    with archive.open(info, "w", force_zip64=True) as member:
        yield member


def write_npy_header(member: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    header = io.BytesIO()
    described = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(header, described)
    member.write(header.getvalue())


def read_npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    npy.read_magic(member)
    shape, _, dtype = npy.read_array_header_1_0(member)
    return shape, dtype


def _open(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path} is not an .npz file that can be read ({' '.join(str(error).split())})") from None


def _about(archive: zipfile.ZipFile) -> dict[str, Any] | None:
    if "polyseme.json" in archive.namelist():  # version 1 of the layout
        first: dict[str, Any] = json.loads(archive.read("polyseme.json"))
        return first
    if not {"about.npy", "records.npy"} <= set(archive.namelist()):
        return None
    with archive.open("about.npy") as member:
        described: dict[str, Any] = json.loads(str(npy.read_array(member)))
    return described


def _put(archive: zipfile.ZipFile, name: str, values: np.ndarray[Any, Any]) -> None:
    with _member(archive, f"{name}.npy") as member:
        npy.write_array(member, values, version=(1, 0), allow_pickle=False)


def _texts(values: list[str]) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.str_) if values else np.array([], dtype="<U1")
