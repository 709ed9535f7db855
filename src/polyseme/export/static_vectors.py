"""One vector for each word of a list, and the files that other programs read them from.

The vector is what the token layer says of the word's spelling, or the mean over a corpus.

.txt    "words size", then a line for each word: the word and its numbers
.bin    the same first line, then each word, a space, its float32 numbers, a line end
.kv     what gensim's KeyedVectors.load reads; gensim itself writes it
.hdf5   a row for each word of a vocabulary, as bilm-tf's ``dump_token_embeddings`` writes it: a model that finds its
        words there reads them without looking at their characters
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from polyseme.encoding import Floats
from polyseme.engine.engine import Engine
from polyseme.errors import ConfigError, InputError, JobError, reason_of
from polyseme.extras import needing
from polyseme.formats.bilm_tf import tf_indexer
from polyseme.formats.hdf5_file import written_hdf5
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import partial_path, put_in_place, raise_if_disk_full, replace_when_complete
from polyseme.jobs.progress import working
from polyseme.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

SUFFIXES = (".txt", ".bin", ".kv")
_WORDS = 4096  # that are encoded together


class ExportedVectors(NamedTuple):
    """Words and their vectors, row by row."""

    words: list[str]
    vectors: Floats  # [words, D] of the token layer, [words, W] of averages
    missing: list[str]  #: words of the list that the corpus does not have


def read_words(lines: Iterable[str]) -> list[str]:
    """One word a line, each once, in order; what stands after a tab or a space on a line is an error."""
    words: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if len(word.split()) > 1:
            raise InputError(
                f"line {number} of the word list holds {word!r}; expected one word per line, without spaces"
            )
        if word:
            words[word] = None
    if not words:
        raise InputError("the word list has no words; expected one word per line")
    return list(words)


def token_layer_vectors(elmo: Elmo, words: Sequence[str]) -> ExportedVectors:
    """The token layer, which reads the spelling alone: any word has a vector. Both directions read the same one."""
    size = elmo.config.projection
    rows = [encoding.layers[0, 0, :size] for encoding in elmo.stream([word] for word in words)]
    return ExportedVectors(list(words), np.stack(rows), [])


def corpus_averages(elmo: Elmo, words: Sequence[str], texts: Iterable[str | Sequence[str]]) -> ExportedVectors:
    """The mean of a word's vectors over all its occurrences, in any case; words that do not occur are left out."""
    places = {word.casefold(): row for row, word in reversed(list(enumerate(words)))}
    sums, counts = np.zeros((len(words), elmo.config.width)), np.zeros(len(words), np.int64)
    for encoding in elmo.stream(texts):
        for position, token in enumerate(encoding.tokens):
            row = places.get(token.casefold())
            if row is not None:
                sums[row] += encoding.vectors[position]
                counts[row] += 1
    rows = [places[word.casefold()] for word in words]  # spellings that differ in case share their mean
    found = [(word, row) for word, row in zip(words, rows, strict=True) if counts[row]]
    if not found:
        raise InputError("none of the words occurs in the corpus, so there is nothing to average")
    means = np.stack([sums[row] / counts[row] for _, row in found]).astype(np.float32)
    known = {word for word, _ in found}
    return ExportedVectors([word for word, _ in found], means, [word for word in words if word not in known])


def check_suffix(path: Path) -> None:
    """ConfigError unless the name tells the format."""
    if path.suffix not in SUFFIXES:
        found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise ConfigError(f"{path} has {found}; expected one of {', '.join(SUFFIXES)}")


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
    with needing("writing .kv", "gensim"):
        from gensim.models import KeyedVectors
    keyed = KeyedVectors(found.vectors.shape[1])
    keyed.add_vectors(found.words, np.ascontiguousarray(found.vectors))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        keyed.save(str(Path(folder, path.name)))
        written = sorted(Path(folder).iterdir(), key=lambda file: file.name == path.name)
        for file in written:  # arrays that gensim puts beside come first, the file that names them last
            file.replace(path.with_name(file.name))


def write_word_table(stored: StoredModel, vocabulary: Vocabulary, path: Path) -> None:
    """HDF5 with one dataset, ``embedding`` [V, D]: row n belongs to line n of the vocabulary."""
    if stored.config.words is not None or stored.config.characters is None:
        raise ConfigError("the model looks words up already, so no table can be made of it")
    if not len(vocabulary):
        raise ConfigError("the vocabulary has no words, so no table can be made of it")
    engine = Engine(replace(stored, indexer=tf_indexer(stored.config, vocabulary)), cache_mb=0)
    words, beside = vocabulary.words, partial_path(path)
    try:
        with written_hdf5(beside) as (file, disk), working("encoding words", len(words)) as work:
            rows = file.create_dataset("embedding", (len(words), stored.config.projection), "float32")
            for begin in range(0, len(words), _WORDS):
                some = words[begin : begin + _WORDS]
                rows[begin : begin + len(some)] = engine.encode_words(some)
                disk.raise_if_failed()
                work.advance(len(some))
        put_in_place(beside, path)
    except OSError as error:
        raise_if_disk_full(error, path)
        raise JobError(f"{path} cannot be written: {reason_of(error)}") from None
    finally:
        beside.unlink(missing_ok=True)
