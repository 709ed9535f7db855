"""polyseme prepare: text → a corpus folder that `polyseme pretrain` reads."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.options import Field, Overwrite, Quiet
from polyseme.cli.printing import print_json

if TYPE_CHECKING:
    from polyseme.pretrain.corpus.corpus import CorpusMeta, CorpusStatistics


def prepare(
    corpus: Annotated[
        list[str],
        typer.Argument(
            help="Text files, globs or - (txt, jsonl, csv, tsv, parquet, conllu, fasta; also .gz .xz .bz2 .zst); "
            "for --stats alone: a prepared folder.",
            metavar="FILE",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder to write.", metavar="DIR")] = None,
    lang: Annotated[
        str,
        typer.Option(
            help="Language of the text; 'whitespace' for text already split into tokens, one sentence per line."
        ),
    ] = "en",
    vocabulary_size: Annotated[
        int | None,
        typer.Option(help="Size of the vocabulary, special words included; by default, all words.", metavar="N"),
    ] = None,
    min_count: Annotated[int, typer.Option(help="Leave out words that occur less often.", metavar="N")] = 1,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Use this vocabulary, in bilm-tf's format.", metavar="FILE")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes; by default, one per core.", metavar="N")
    ] = None,
    field: Field = None,
    overwrite: Overwrite = False,
    stats: Annotated[bool, typer.Option("--stats", help="Show coverage and sentence lengths.")] = False,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Turn text of any size into a training corpus.

    Examples:

      polyseme prepare news.txt --out corpus --vocabulary-size 50000

      polyseme prepare corpus --stats
    """
    from polyseme.pretrain.corpus.corpus import describe, open_corpus
    from polyseme.pretrain.corpus.preparation import prepare as write_corpus

    if out is None:
        folder = _only_folder(corpus, stats)
    else:
        folder = out
        words: dict[str, Any] = {"vocabulary_size": vocabulary_size, "min_count": min_count, "vocabulary": vocabulary}
        write_corpus(corpus, out, lang=lang, workers=workers, field=field, overwrite=overwrite, **words)
    prepared = open_corpus(folder)
    statistics = describe(prepared) if stats else None
    if as_json:
        figures = asdict(prepared.meta)
        print_json(figures if statistics is None else figures | {"statistics": asdict(statistics)}, indent=2)
    else:
        typer.echo(_as_text(prepared.meta, statistics))
    if out is not None and not quiet:
        typer.echo(f"next: polyseme pretrain {out} --recipe compact --out RUN", err=True)


def _only_folder(corpus: list[str], stats: bool) -> Path:
    if stats and len(corpus) == 1 and Path(corpus[0]).is_dir():
        return Path(corpus[0])
    if stats:
        raise typer.BadParameter("give one prepared folder, or text files and --out DIR", param_hint="FILE")
    raise typer.BadParameter("name the folder for the corpus", param_hint="--out")


def _as_text(meta: CorpusMeta, statistics: CorpusStatistics | None) -> str:
    rows = [
        ("tokens", f"{meta.tokens:,}"),
        ("sentences", f"{meta.sentences:,}, the longest of {meta.longest_sentence:,} tokens"),
        ("documents", f"{meta.documents:,}"),
        ("types", f"{meta.types:,}"),
        ("vocabulary", f"{meta.vocabulary_size:,} words, {meta.unknown_rate:.2%} of the tokens unknown"),
    ]
    if statistics is not None:
        rows += [(f"coverage {size:,}", f"{share:.2%}") for size, share in statistics.coverage.items()]
        rows.append(("mean length", f"{statistics.mean_length:.1f}"))
        rows += [(f"length {percent} %", f"{length:,}") for percent, length in statistics.lengths.items()]
    return "\n".join(f"{name:<17} {value}" for name, value in rows)
