"""polyseme embed: text files → one file of vectors."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli.bars import resumable, shown_duration
from polyseme.cli.options import (
    CarriedState,
    Device,
    Field,
    IdColumn,
    Kind,
    Lang,
    Model,
    OptionsFile,
    Overwrite,
    Precision,
    Quiet,
    Threads,
)

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.embed.assembly import Summary
    from polyseme.embed.description import Options, Shard
    from polyseme.embed.estimate import Estimate


def embed(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text files, globs or - (txt, jsonl, csv, tsv, parquet, conllu, fasta; also .gz .xz .bz2 .zst).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="Output file: .h5 (AllenNLP's layout), .parquet, .npz, .npy, .jsonl, or -.", metavar="FILE"),
    ] = Path("vectors.h5"),
    model: Model = "en",
    options_file: OptionsFile = None,
    layers: Annotated[
        Literal["all", "top", "average", "sum"] | None,
        typer.Option(help="Every layer, the last, or the mean or sum of all; by default, the model's own mix."),
    ] = None,
    pool: Annotated[
        Literal["mean"] | None, typer.Option(help="One vector per document (line, record, protein).")
    ] = None,
    dtype: Annotated[Literal["float32", "float16"], typer.Option(help="Type of the numbers.")] = "float32",
    words: Annotated[
        str | None,
        typer.Option(help="Only these words, upper or lower case, with their sentences.", metavar="WORD,WORD"),
    ] = None,
    field: Field = None,
    id_column: IdColumn = None,
    keep: Annotated[
        str | None, typer.Option(help="Input columns to copy to the output.", metavar="COLUMN,COLUMN")
    ] = None,
    pipe: Annotated[
        Literal["jsonl", "arrow"], typer.Option("--format", help="What --out - writes to the pipe.")
    ] = "jsonl",
    kind: Kind = None,
    lang: Lang = None,
    state: CarriedState = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Sentences per batch with --state carry; 64 by default.", metavar="N", min=1),
    ] = None,
    use_sentence_keys: Annotated[
        bool, typer.Option("--use-sentence-keys", help="In HDF5, use each sentence as its key, not its number.")
    ] = False,
    forget_sentences: Annotated[bool, typer.Option("--forget-sentences", help="No sentence_to_index in HDF5.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print what it will take, and stop.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print what it took: speed, memory, cache.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted job.")] = False,
    overwrite: Overwrite = False,
    shard: Annotated[
        str | None, typer.Option(help="Do only share I of N, on one of N machines; then --merge.", metavar="I/N")
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Merge the shares of all machines.")] = False,
    on: Annotated[
        Literal["ray"] | None, typer.Option(help="Run on a Ray cluster; FILE becomes a folder of Parquet files.")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    processes: Annotated[int, typer.Option(help="Number of processes; the file is the same.", metavar="N", min=1)] = 1,
    precision: Precision = "float32",
    quiet: Quiet = False,
) -> None:
    """Turn text files of any size into vectors. An interrupted job continues with --resume.

    To reproduce a file of AllenNLP's elmo command, use --lang whitespace --state carry and its --batch-size.

    Examples:

      polyseme embed reviews.csv --field body --id nr --keep stars --pool mean --out reviews.parquet

      polyseme embed corpus.txt --words present,bank --layers all --out words.parquet
    """
    from polyseme.embed.description import Options, Shard

    if merge:
        _merge(out, inputs, overwrite=overwrite, quiet=quiet)
        return
    if not inputs:
        raise typer.BadParameter("give at least one file, glob or -", param_hint="FILE")
    options = Options(
        layers=layers,
        dtype=dtype,
        pool=pool,
        words=_listed(words),
        kind=kind,
        field=field,
        id=id_column,
        keep=_listed(keep),
        batch_size=batch_size,
        keys="sentences" if use_sentence_keys else "numbers",
        sentence_index=not forget_sentences,
    )
    share = Shard.parse(shard) if shard else Shard()
    load_model = partial(_load, model, options_file, lang, state, device, precision)
    if estimate:
        _print_estimate(inputs, out, load_model(threads), options)
        return
    if processes > 1 and (shard or on or stats or out == Path("-")):
        raise typer.BadParameter("cannot be combined with --shard, --on, --stats or --out -", param_hint="--processes")
    if out == Path("-"):
        if shard or resume or on or stats:
            raise typer.BadParameter(
                "a pipe cannot be combined with --resume, --shard, --stats or --on", param_hint="--out -"
            )
        _run_to_pipe(inputs, load_model(threads), options, pipe, quiet=quiet)
        return
    if on == "ray":
        if shard or stats or threads or options_file or device != "auto" or precision != "float32":
            raise typer.BadParameter(
                "Ray divides the work itself: no --shard, --stats, --device, --threads, --precision, --options",
                param_hint="--on",
            )
        if state == "carry" or use_sentence_keys or forget_sentences:
            raise typer.BadParameter("a Ray job can neither carry state nor write HDF5", param_hint="--on")
        _run_on_ray(inputs, out, model, lang, state, options, resume=resume, quiet=quiet)
        return
    if processes > 1:
        _run_in_processes(
            inputs, out, load_model, options, processes, threads, resume=resume, overwrite=overwrite, quiet=quiet
        )
        return
    _run(inputs, out, load_model(threads), options, share, resume=resume, overwrite=overwrite, stats=stats, quiet=quiet)


def _listed(names: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (names or "").split(",") if name.strip())


def _load(
    model: str,
    options: str | None,
    lang: str | None,
    state: CarriedState,
    device: str,
    precision: Precision,
    threads: int | None,
) -> Elmo:
    from polyseme.elmo import Elmo

    return Elmo.from_pretrained(
        model, options=options, device=device, state=state, lang=lang, threads=threads, precision=precision
    )


def _run(
    inputs: list[str],
    out: Path,
    elmo: Elmo,
    options: Options,
    share: Shard,
    *,
    resume: bool,
    overwrite: bool,
    stats: bool,
    quiet: bool,
) -> None:
    from polyseme.embed.job import embed_files
    from polyseme.jobs.progress import Progress, current_listener

    began, last = time.monotonic(), Progress("embedding", 0, None)
    show = current_listener()

    def note(progress: Progress) -> None:
        nonlocal last
        last = progress
        show(progress)

    with resumable(quiet):
        summary = embed_files(
            inputs, out, elmo, options, shard=share, resume=resume, overwrite=overwrite, progress=note
        )
    if stats:
        _print_stats(elmo, last.tokens, time.monotonic() - began)
    if not quiet:
        typer.echo(_outcome(summary, out, share, options.words), err=True)


def _run_in_processes(
    inputs: list[str],
    out: Path,
    load_model: Callable[[int | None], Elmo],
    options: Options,
    processes: int,
    threads: int | None,
    *,
    resume: bool,
    overwrite: bool,
    quiet: bool,
) -> None:
    from polyseme.embed.description import Shard
    from polyseme.embed.processes import embed_in_processes

    with resumable(quiet):
        summary = embed_in_processes(
            inputs, out, load_model, options, processes=processes, threads=threads, resume=resume, overwrite=overwrite
        )
    if not quiet:
        typer.echo(_outcome(summary, out, Shard(), options.words), err=True)


def _run_to_pipe(
    inputs: list[str], elmo: Elmo, options: Options, pipe: Literal["jsonl", "arrow"], *, quiet: bool
) -> None:
    from polyseme.embed.pipe import embed_to_pipe

    count = embed_to_pipe(inputs, sys.stdout.buffer, elmo, options, pipe)
    if not quiet:
        typer.echo(f"wrote {_counted(count, 'record')}", err=True)


def _outcome(summary: Summary | None, out: Path, share: Shard, words: tuple[str, ...]) -> str:
    if share.count > 1:
        return (
            f"share {share.index + 1} of {share.count} is done\nnext, when all are: polyseme embed --merge --out {out}"
        )
    if summary is None:
        return f"{out} is complete already"
    if words and not summary.records:
        occurs = "does not occur" if len(words) == 1 else "do not occur"
        return f"{out}: 0 records; {', '.join(map(repr, words))} {occurs} in the text"
    return _written(summary, out)


def _written(summary: Summary, out: Path) -> str:
    from polyseme.formats.releases.reports import shown_size

    records, tokens = _counted(summary.records, "record"), _counted(summary.tokens, "token")
    counts = f"{records} of {tokens}, {shown_size(summary.bytes)}"
    return f"{out}: {counts}\n{_next(out)}" if summary.records else f"{out}: {counts}"


def _next(out: Path) -> str:
    return f"next: python -c \"from polyseme.embed import read; print(next(read('{out}')).tokens)\""


def _merge(out: Path, inputs: list[str] | None, *, overwrite: bool, quiet: bool) -> None:
    from polyseme.embed.assembly import assemble

    if inputs:
        raise typer.BadParameter("--merge takes no inputs, only --out FILE", param_hint="FILE")
    summary = assemble(out, overwrite=overwrite)
    if not quiet:
        typer.echo(_written(summary, out), err=True)


def _run_on_ray(
    inputs: list[str],
    out: Path,
    model: str,
    lang: str | None,
    state: CarriedState,
    options: Options,
    *,
    resume: bool,
    quiet: bool,
) -> None:
    from polyseme.embed.ray import embed_on_ray

    count = embed_on_ray(inputs, out, model, options, lang=lang, state=state, resume=resume)
    if not quiet:
        typer.echo(f"{out}: {_counted(count, 'record')} in Parquet shards\n{_next(out)}", err=True)


def _print_estimate(inputs: list[str], out: Path, elmo: Elmo, options: Options) -> None:
    from polyseme.embed.estimate import estimate
    from polyseme.formats.releases.reports import shown_size

    found: Estimate = estimate(inputs, out, elmo, options)
    free = shutil.disk_usage(out.parent).free
    rows = [
        ("documents", f"{found.documents:,} of {found.characters:,} characters"),
        ("to encode", f"about {found.sentences:,} sentences, {found.tokens:,} tokens"),
        ("time", f"about {shown_duration(found.seconds)}"),
        ("memory", shown_size(found.memory_bytes) if found.memory_bytes else "unknown"),
        ("file", f"about {shown_size(found.file_bytes)}"),
        ("disk", f"about {shown_size(found.disk_bytes)} while it runs, {shown_size(free)} free"),
    ]
    typer.echo("\n".join(f"{name:<10} {value}" for name, value in rows))


def _print_stats(elmo: Elmo, tokens: int, seconds: float) -> None:
    from polyseme.embed.estimate import peak_memory
    from polyseme.formats.releases.reports import shown_size

    cache = elmo.engine.cache
    held = cache.rows * elmo.config.projection * 4
    rows = [
        ("time", shown_duration(seconds)),
        ("speed", f"{tokens / seconds:,.0f} tokens/s, {tokens:,} tokens in this run"),
        ("memory", shown_size(peak_memory()) if peak_memory() else "unknown"),
        (
            "cache",
            f"{cache.rows:,} token vectors, {shown_size(held)}; {cache.rate:.0%} of the distinct tokens were in it",
        ),
    ]
    typer.echo("\n".join(f"{name:<10} {value}" for name, value in rows), err=True)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
