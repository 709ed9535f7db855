"""polyseme convert: a model of any format → a native folder, or files for other programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli.options import OptionsFile, Overwrite

if TYPE_CHECKING:
    from polyseme.formats.model import StoredModel


def convert(
    source: Annotated[
        str, typer.Argument(help="A name, a folder, a file, an archive, an address or a hub id.", metavar="SRC")
    ],
    destination: Annotated[
        Path, typer.Argument(help="The folder to write: new, empty, or with --overwrite.", metavar="DST")
    ],
    options_file: OptionsFile = None,
    to: Annotated[
        Literal["native", "bilm-tf", "allennlp"],
        typer.Option(help="A native folder, or options.json with HDF5 for one of the two."),
    ] = "native",
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="For bilm-tf: a word list, one per line; their vectors are written to embeddings.hdf5.",
            metavar="FILE",
        ),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16"], typer.Option(help="How a native folder stores its weights.")
    ] = "float32",
    softmax: Annotated[
        Literal["float32", "float16", "int8"] | None,
        typer.Option(help="How a native folder stores the softmax; by default, like the other weights."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No hints.")] = False,
) -> None:
    """Convert a model from any format to another.

    Examples:

      polyseme convert 136.zip arabic

      polyseme convert my-model my-model-hdf5 --to bilm-tf
    """
    from polyseme.errors import ConfigError
    from polyseme.formats.allennlp import save_allennlp
    from polyseme.formats.detect import load
    from polyseme.formats.native import save_native
    from polyseme.jobs.atomic import refuse_existing

    if vocabulary is not None and to != "bilm-tf":
        raise ConfigError("a table of word vectors belongs to bilm-tf's files; add --to bilm-tf")
    if to != "native" and (dtype != "float32" or softmax is not None):
        option = "--dtype" if dtype != "float32" else "--softmax"
        raise ConfigError(f"{to} stores weights as float32 only; leave {option} out, or use --to native")
    if not overwrite:
        refuse_existing(destination)
    model = load(source, options=options_file)
    if to == "native":
        save_native(model, destination, dtype, softmax=softmax)
    elif to == "bilm-tf":
        _save_bilm_tf(model, destination, vocabulary)
    else:
        save_allennlp(model, destination)
    if not quiet:
        typer.echo(f"wrote {destination}; next: polyseme info {destination}", err=True)


def _save_bilm_tf(model: StoredModel, folder: Path, vocabulary: Path | None) -> None:
    """Save the model; with a vocabulary, as one that reads words, from a table of their vectors."""
    from polyseme.formats.bilm_tf import EMBEDDINGS, read_vocabulary, save_bilm_tf, tf_indexer

    if vocabulary is None:
        save_bilm_tf(model, folder)
        return
    from polyseme.errors import InputError
    from polyseme.export.static_vectors import write_word_table
    from polyseme.text.vocabulary import BEGIN, END

    if not vocabulary.is_file():
        raise InputError(f"there is no file {vocabulary}; give a list of words, one per line")
    words = read_vocabulary(vocabulary)
    if missing := [name for name in (BEGIN, END) if name not in words]:
        raise InputError(f"{vocabulary} has no line {missing[0]}, which every sentence needs; add it")
    model = replace(model, indexer=tf_indexer(model.config, words), vocabulary=words, softmax=None)
    save_bilm_tf(model, folder)
    write_word_table(model, words, folder / EMBEDDINGS)
