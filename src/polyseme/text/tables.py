"""Texts out of tables: one field of every record of a JSONL, CSV, TSV or Parquet file.

Each reader yields (id, text): the id counts records from 0 (for JSONL: lines, so that blank ones keep their
number). A null is an empty text. A missing field is an error that lists the fields there are.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from polyseme.errors import InputError, MissingExtra
from polyseme.text.lines import LIMIT_BYTES, read_lines


def read_jsonl(stream: io.BufferedReader, source: str, field: str) -> Iterator[tuple[str, str]]:
    """One JSON object a line; ``field`` may be nested, as in "article.body"."""
    for number, line in enumerate(read_lines(stream, source)):
        if not line.strip():
            continue
        place = f"{source}, line {number + 1}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON ({error}); expected one JSON object a line") from None
        yield str(number), _text(_descend(record, field, place), field, place)


def read_csv(stream: io.BufferedReader, source: str, field: str) -> Iterator[tuple[str, str]]:
    """Comma-separated with quotes (RFC 4180), column names in the first row."""
    if csv.field_size_limit() < LIMIT_BYTES:
        csv.field_size_limit(LIMIT_BYTES)  # of the whole process; the default of 128 KB cuts documents off
    rows = csv.reader((line + "\n" for line in read_lines(stream, source)), strict=True)
    try:
        yield from _column(((rows.line_num, row) for row in rows if row), source, field)
    except csv.Error as error:
        raise InputError(f"{source}, line {rows.line_num} is not CSV ({error}); check its quotes") from None


def read_tsv(stream: io.BufferedReader, source: str, field: str) -> Iterator[tuple[str, str]]:
    """Tab-separated, column names in the first row; a quote is an ordinary character, as linguists' files have it."""
    lines = enumerate(read_lines(stream, source), start=1)
    return _column(((number, line.split("\t")) for number, line in lines if line), source, field)


def read_parquet(stream: io.BufferedReader, source: str, field: str, *, seekable: bool) -> Iterator[tuple[str, str]]:
    """The column ``field`` (nested: "article.body"), batch by batch; what cannot seek is first copied to disk."""
    pyarrow, parquet = _pyarrow()
    with tempfile.TemporaryFile() as copy:
        if not seekable:
            shutil.copyfileobj(stream, copy)
        try:
            # pre_buffer would hold a whole row group, which may be a whole file
            table = parquet.ParquetFile(source if seekable else copy, pre_buffer=False, buffer_size=1 << 20)
            number = 0
            for values in _batches(pyarrow, table, source, field):
                for value in values:
                    yield str(number), _text(value, field, f"{source}, row {number}")
                    number += 1
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{source} is not a Parquet file that can be read ({reason})") from None


def _batches(pyarrow: Any, table: Any, source: str, field: str) -> Iterator[list[Any]]:
    column = schema = table.schema_arrow
    path = [field] if field in schema.names else field.split(".")
    for name in path:
        names = [child.name for child in column] if column is schema or pyarrow.types.is_struct(column) else []
        if name not in names:
            raise _missing(field, names, source)
        column = column.field(name).type
    if not pyarrow.types.is_string(column) and not pyarrow.types.is_large_string(column):
        raise InputError(f"{source}: the column {field!r} holds {column} where text was expected; name another one")
    for batch in table.iter_batches(batch_size=256, columns=[field], use_threads=False):
        values = batch.column(0)
        for name in path[1:]:
            values = values.field(name)
        yield values.to_pylist()


def _column(rows: Iterator[tuple[int, list[str]]], source: str, field: str) -> Iterator[tuple[str, str]]:
    """``field`` of every row; rows come with the number of their last line."""
    _, names = next(rows, (0, []))
    if names.count(field) != 1:
        raise _missing(field, names, source)
    column = names.index(field)
    for number, (line, row) in enumerate(rows):
        if len(row) != len(names):
            raise InputError(
                f"{source}, line {line} has {len(row)} fields where its first line names {len(names)} "
                f"({', '.join(names)})"
            )
        yield str(number), row[column]


def _descend(record: Any, field: str, place: str) -> Any:
    value = record
    for name in [field] if isinstance(record, dict) and field in record else field.split("."):
        if not isinstance(value, dict):
            raise InputError(f"{place} holds {_kind(value)} where an object with the field {field!r} was expected")
        if name not in value:
            raise _missing(field, list(value), place)
        value = value[name]
    return value


def _text(value: Any, field: str, place: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}: the field {field!r} holds {_kind(value)} where text was expected")
    try:
        value.encode()  # JSON can spell half a surrogate pair, which no UTF-8 file can hold
    except UnicodeEncodeError:
        raise InputError(f"{place}: the field {field!r} holds half a surrogate pair, which is no character") from None
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", bool: "a truth value", int: "a number", float: "a number", str: "text"}
    return kinds.get(type(value), "null")


def _missing(field: str, names: list[str], place: str) -> InputError:
    if names.count(field) > 1:
        return InputError(f"{place}: the field {field!r} stands there {names.count(field)} times; name another one")
    there = ", ".join(repr(name) for name in names[:20]) or "none"
    return InputError(f"{place}: there is no field {field!r}; there are: {there}; name one of them")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "files") from None
    return pyarrow, pyarrow.parquet
