"""Word vectors on disk: word2vec's text and binary formats, and gensim's KeyedVectors.

.txt    "words size", then a line for each word: the word and its numbers
.bin    the same first line, then each word, a space, its float32 numbers, a line end
.kv     what gensim's KeyedVectors.load reads; gensim itself writes it
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

import numpy as np

from polyseme.errors import ConfigError, MissingExtra
from polyseme.export.static_vectors import ExportedVectors
from polyseme.jobs.atomic import replace_when_complete

SUFFIXES = (".txt", ".bin", ".kv")


def check_suffix(path: Path) -> None:
    """ConfigError unless the name tells the format."""
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"{path} has the suffix {path.suffix or 'none'!r}; expected one of {', '.join(SUFFIXES)}")


def write_vectors(path: Path, found: ExportedVectors) -> None:
    """Write words and vectors in the format of the suffix."""
    check_suffix(path)
    if path.suffix == ".kv":
        _write_keyed_vectors(path, found)
        return
    with replace_when_complete(path) as file:
        file.write(f"{len(found.words)} {found.vectors.shape[1]}\n".encode())
        (_write_text if path.suffix == ".txt" else _write_binary)(file, found)


def _write_text(file: IO[bytes], found: ExportedVectors) -> None:
    for word, vector in zip(found.words, found.vectors, strict=True):
        file.write(f"{word} {' '.join(map(str, vector))}\n".encode())  # str of a float32 reads back as the same one


def _write_binary(file: IO[bytes], found: ExportedVectors) -> None:
    for word, vector in zip(found.words, found.vectors, strict=True):
        file.write(word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n")


def _write_keyed_vectors(path: Path, found: ExportedVectors) -> None:
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise MissingExtra("writing .kv", "gensim") from None
    keyed = KeyedVectors(found.vectors.shape[1])
    keyed.add_vectors(found.words, np.ascontiguousarray(found.vectors))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        keyed.save(str(Path(folder, path.name)))
        written = sorted(Path(folder).iterdir(), key=lambda file: file.name == path.name)
        for file in written:  # arrays that gensim puts beside come first, the file that names them last
            file.replace(path.with_name(file.name))
