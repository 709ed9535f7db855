"""Texts from tables: one field of every record of a JSONL, CSV, TSV or Parquet file.

Each reader yields rows: an id, a text, and other columns to keep. The id comes from the named column, or from a column
"id" if there is one; else it counts records from 0 (in JSONL it counts lines, including blank ones). A null is an
empty text. A missing field is an error that lists the existing fields.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from polyseme.errors import InputError
from polyseme.extras import needing
from polyseme.text.lines import LIMIT_BYTES, read_lines


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read from a table; a name such as "article.body" is nested."""

    text: str = "text"
    id: str | None = None  #: by default "id", if there is such a column, else the number of the record
    keep: tuple[str, ...] = ()


class Row(NamedTuple):
    """What a reader yields for a record."""

    id: str
    text: str
    kept: dict[str, Any]  #: by name: text, numbers, booleans, null; anything else as text


ID = "id"


def read_jsonl(stream: io.BufferedReader, source: str, columns: Columns) -> Iterator[Row]:
    """One JSON object per line; fields may be nested, as in "article.body"."""
    for number, line in enumerate(read_lines(stream, source)):
        if not line.strip():
            continue
        place = f"{source}, line {number + 1}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON ({error}); expected one JSON object per line") from None
        named = columns.id or (ID if isinstance(record, dict) and ID in record else None)
        yield _row(columns, named, number, place, partial(_descend, record, place, columns))


def read_csv(stream: io.BufferedReader, source: str, columns: Columns) -> Iterator[Row]:
    """Comma-separated with quotes (RFC 4180), column names in the first row."""
    if csv.field_size_limit() < LIMIT_BYTES:
        csv.field_size_limit(LIMIT_BYTES)  # for the whole process; the default of 128 KB refuses long documents
    rows = csv.reader((line + "\n" for line in read_lines(stream, source)), strict=True)
    try:
        yield from _rows(((rows.line_num, row) for row in rows if row), source, columns)
    except csv.Error as error:
        raise InputError(f"{source}, line {rows.line_num} is not CSV ({error}); check its quotes") from None


def read_tsv(stream: io.BufferedReader, source: str, columns: Columns) -> Iterator[Row]:
    """Tab-separated, column names in the first row; a quote is an ordinary character, as in linguists' files."""
    lines = enumerate(read_lines(stream, source), start=1)
    return _rows(((number, line.split("\t")) for number, line in lines if line), source, columns)


def read_parquet(stream: io.BufferedReader, source: str, columns: Columns, *, seekable: bool) -> Iterator[Row]:
    """The columns (nested: "article.body"), batch by batch; a stream that cannot seek is first copied to disk."""
    pyarrow, parquet = _pyarrow()
    with tempfile.TemporaryFile() as copy:
        if not seekable:
            shutil.copyfileobj(stream, copy)
        try:
            # pre_buffer would hold a whole row group, which may be a whole file
            table = parquet.ParquetFile(source if seekable else copy, pre_buffer=False, buffer_size=1 << 20)
            named = columns.id or (ID if ID in table.schema_arrow.names else None)
            for number, values in enumerate(_parquet_records(pyarrow, table, source, columns, named)):
                yield _row(columns, named, number, f"{source}, row {number}", values.__getitem__)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{source} is not a Parquet file that can be read ({reason})") from None


def _parquet_records(
    pyarrow: Any, table: Any, source: str, columns: Columns, named: str | None
) -> Iterator[dict[str, Any]]:
    """The wanted columns of every record, by their names."""
    names = list(dict.fromkeys([columns.text, *([named] if named else []), *columns.keep]))
    paths = {name: _parquet_path(pyarrow, table.schema_arrow, source, name, columns) for name in names}
    _, kind = paths[columns.text]
    if not pyarrow.types.is_string(kind) and not pyarrow.types.is_large_string(kind):
        message = f"{source}: the column {columns.text!r} holds {kind} where text was expected; name another one"
        raise InputError(message)
    for batch in table.iter_batches(batch_size=256, columns=names, use_threads=False):
        lists = []
        for path, _ in paths.values():
            values = batch.column(path[0])
            for part in path[1:]:
                values = values.field(part)
            lists.append(values.to_pylist())
        for record in zip(*lists, strict=True):
            yield dict(zip(names, record, strict=True))


def _parquet_path(pyarrow: Any, schema: Any, source: str, field: str, columns: Columns) -> tuple[list[str], Any]:
    """A column's name, part by part, and its type."""
    column = schema
    path = [field] if field in schema.names else field.split(".")
    for name in path:
        names = [child.name for child in column] if column is schema or pyarrow.types.is_struct(column) else []
        if name not in names:
            raise _missing(field, names, source, columns)
        column = column.field(name).type
    return path, column


def _rows(rows: Iterator[tuple[int, list[str]]], source: str, columns: Columns) -> Iterator[Row]:
    """Rows of CSV and TSV, given with the number of their last line."""
    _, names = next(rows, (0, []))
    if not names:
        raise InputError(f"{source} is empty; its first line should name its columns")
    named = columns.id or (ID if names.count(ID) == 1 else None)
    for wanted in (columns.text, *([named] if named else []), *columns.keep):
        if names.count(wanted) != 1:
            raise _missing(wanted, names, source, columns)
    for number, (line, row) in enumerate(rows):
        if len(row) != len(names):
            raise InputError(
                f"{source}, line {line} has {len(row)} fields where its first line names {len(names)} "
                f"({', '.join(names)})"
            )
        yield _row(columns, named, number, f"{source}, line {line}", dict(zip(names, row, strict=True)).__getitem__)


def _row(columns: Columns, named: str | None, number: int, place: str, get: Callable[[str], Any]) -> Row:
    text = _text(get(columns.text), columns.text, place)
    identifier = None if named is None else get(named)
    if identifier is None and columns.id is not None:
        raise InputError(f"{place}: the field {columns.id!r} is null where an id was expected")
    shown = str(number) if identifier is None else str(plain_value(identifier))
    return Row(shown, text, {name: plain_value(get(name)) for name in columns.keep})


def plain_value(value: Any) -> Any:
    """A value that every format of vectors can store: lists and objects as JSON, dates and the like as text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _descend(record: Any, place: str, columns: Columns, field: str) -> Any:
    value = record
    for name in [field] if isinstance(record, dict) and field in record else field.split("."):
        if not isinstance(value, dict):
            raise InputError(f"{place} holds {_kind(value)} where an object with the field {field!r} was expected")
        if name not in value:
            raise _missing(field, list(value), place, columns)
        value = value[name]
    return value


def _text(value: Any, field: str, place: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}: the field {field!r} holds {_kind(value)} where text was expected")
    try:
        value.encode()  # JSON can contain half a surrogate pair, but no UTF-8 file can
    except UnicodeEncodeError:
        raise InputError(
            f"{place}: the field {field!r} holds half a surrogate pair, which is not a character"
        ) from None
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", bool: "a truth value", int: "a number", float: "a number", str: "text"}
    return kinds.get(type(value), "null")


def _missing(field: str, names: list[str], place: str, columns: Columns) -> InputError:
    option = "--field" if field == columns.text else "--keep" if field in columns.keep else "--id"
    if names.count(field) > 1:
        return InputError(
            f"{place}: the field {field!r} occurs {names.count(field)} times; name another one with {option}"
        )
    there = ", ".join(repr(name) for name in names[:20]) or "none"
    return InputError(f"{place}: there is no field {field!r}; there are: {there}; name one of them with {option}")


def _pyarrow() -> tuple[Any, Any]:
    with needing("reading Parquet files", "files"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet
