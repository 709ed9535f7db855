"""polyseme export: word vectors or an ONNX graph of a model, for other programs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.options import Field, Lang, ModelArgument, OptionsFile, Overwrite, Quiet, keep_existing

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.export.static_vectors import ExportedVectors


def export(
    model: ModelArgument,
    static: Annotated[
        Path | None, typer.Option(help="A word list, one word per line: write a vector for each.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Word vectors: .txt or .bin (word2vec), .kv (gensim).", metavar="FILE")
    ] = Path("vectors.txt"),
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="Average each word over these texts; without it, use the spelling alone.", metavar="FILE"),
    ] = None,
    onnx: Annotated[Path | None, typer.Option(help="Write the network as an ONNX graph.", metavar="FILE")] = None,
    options_file: OptionsFile = None,
    field: Field = None,
    lang: Lang = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write word vectors for gensim, or the network as an ONNX graph.

    Examples:

      polyseme export en --static words.txt --corpus corpus.txt --out vectors.bin

      polyseme export en --static words.txt --out vectors.txt
    """
    from polyseme.elmo import Elmo
    from polyseme.errors import ConfigError

    if static is None and onnx is None:
        raise ConfigError("nothing to export: give a word list with --static, or a file name with --onnx")
    keep_existing(onnx, None if static is None else out, overwrite=overwrite)
    elmo = Elmo.from_pretrained(model, options=options_file, device="cpu", lang=lang)
    if onnx is not None:
        from polyseme.export.onnx_graph import write_onnx

        write_onnx(elmo.stored, onnx)
        _tell(f"wrote {onnx}", quiet)
    if static is not None:
        from polyseme.export.static_vectors import check_suffix, write_vectors

        check_suffix(out)
        found = _vectors(elmo, static, corpus, field)
        write_vectors(out, found)
        words, missing = len(found.words), len(found.missing)
        left_out = f"; {missing:,} {'does' if missing == 1 else 'do'} not occur in the corpus" if missing else ""
        many = "word" if words == 1 else "words"
        _tell(f"{out}: {words:,} {many} of {found.vectors.shape[1]} numbers{left_out}", quiet)


def _vectors(elmo: Elmo, static: Path, corpus: list[str] | None, field: str | None) -> ExportedVectors:
    from polyseme.export.static_vectors import corpus_averages, read_words, token_layer_vectors
    from polyseme.text.readers import read_documents

    with static.open(encoding="utf-8-sig") as lines:
        words = read_words(lines)
    if not corpus:
        return token_layer_vectors(elmo, words)
    documents = read_documents(corpus, field=field)
    items = chain.from_iterable(
        [document.text] if document.text else document.sentences or [] for document in documents
    )
    return corpus_averages(elmo, words, items)


def _tell(sentence: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(sentence, err=True)
