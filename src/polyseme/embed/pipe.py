"""Vectors to standard output, record by record: JSON lines, or an Arrow stream that pyarrow, polars and DuckDB read.

Nothing is kept on the way, so a pipe cannot be resumed; what was written before an error is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from polyseme.embed.compute import WindowLimits, compute_records
from polyseme.embed.description import Options, Shard, Survey, survey
from polyseme.embed.jsonl import line_of
from polyseme.embed.records import Contents
from polyseme.errors import ConfigError
from polyseme.text.lines import STDIN
from polyseme.text.readers import expand_inputs

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

PipeFormat = Literal["jsonl", "arrow"]


def embed_to_pipe(
    inputs: Sequence[str | Path], out: IO[bytes], elmo: Elmo, options: Options, form: PipeFormat = "jsonl"
) -> int:
    """Embed all sentences of ``inputs``; gives the number of records."""
    options, sources = options.for_model(elmo), expand_inputs(inputs)
    if elmo.state == "carry":
        raise ConfigError("vectors should not depend on what came before; use the state reset or warm")
    records = compute_records(options.documents(sources), elmo, options, Shard(), WindowLimits.for_model(elmo, options))
    if form == "jsonl":
        count = 0
        for record in records:
            out.write(line_of(record))
            count += 1
        return count
    about = {"layers": options.layers, "dtype": options.dtype, "pool": options.pool, "words": list(options.words)}
    kept = _types(sources, options).kept
    contents = Contents(lambda: records, lambda: iter(()), rows=0, about={**about, "kept": kept})
    return _write_arrow(out, contents)


def _types(sources: list[str], options: Options) -> Survey:
    """The types of the columns that go along, which an Arrow stream has to say before its first record."""
    if not options.keep:
        return Survey(0, 0, {})
    if STDIN in sources:
        raise ConfigError("Arrow needs the types of --keep columns first, and standard input is read once; use jsonl")
    return survey(sources, options)


def _write_arrow(out: IO[bytes], contents: Contents) -> int:
    from polyseme.embed.parquet import groups, schema_of, table_of

    import pyarrow.ipc  # isort: skip  the line above says which extra is missing

    schema, count = schema_of(contents), 0
    with pyarrow.ipc.new_stream(out, schema) as writer:
        for group in groups(contents):
            writer.write_table(table_of(group, schema, contents.kept))
            count += len(group)
    return count
