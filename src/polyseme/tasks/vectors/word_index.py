"""An index of a file of word vectors for repeated lookups: it is scanned once, then read only where words are.

A stream of text has new words in every window, and scanning gigabytes for them takes minutes each time. The file is
mapped into memory, and 24 bytes per word are kept: hash, position, number. A compressed file is first unpacked into a
temporary one.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError, reason_of
from polyseme.jobs.atomic import raise_if_disk_full
from polyseme.tasks.vectors.fasttext import FASTTEXT_MAGIC, cut_off, mean_of, read_head
from polyseme.tasks.vectors.vector_files import START_BYTES, VectorLayout, binary_word, layout_of, text_rows
from polyseme.tasks.vectors.vector_files import cut_off as cut_off_binary
from polyseme.text.lines import compression_of, open_bytes

Floats = npt.NDArray[np.float32]


class Lookup(Protocol):
    def find(self, words: set[str]) -> tuple[int, list[tuple[str, Floats]]]:
        """The size of the vectors, and the vectors of the words that have one."""
        ...


def indexed(source: str) -> Lookup:
    """The index of a file, built at first use and kept; it is rebuilt if the file has changed."""
    try:
        found = Path(source).stat()
    except OSError as error:
        raise InputError(f"{source} cannot be read: {reason_of(error)}") from None
    return _indexed(source, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1)
def _indexed(source: str, changed: int, size: int) -> Lookup:
    content = map_vectors(source)
    start = content[:START_BYTES]
    return _FastText(content, source) if start.startswith(FASTTEXT_MAGIC) else _Rows(content, source)


def map_vectors(source: str) -> mmap.mmap:
    """The uncompressed bytes of a file."""
    try:
        if compression_of(source) is None:
            with Path(source).open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with open_bytes(source) as packed, TemporaryFile() as copy:
            shutil.copyfileobj(packed, copy, 1 << 20)
            copy.flush()
            return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        raise InputError(f"{source} holds no word vectors: it is empty") from None
    except OSError as error:
        raise_if_disk_full(error, Path(source), "make room for it to be unpacked, or name another folder in $TMPDIR")
        raise InputError(f"{source} cannot be read: {reason_of(error)}") from None


class _Rows:
    """An index of text, or of word2vec's binary."""

    def __init__(self, content: mmap.mmap, source: str) -> None:
        self.content, self.source = content, source
        self.layout = layout_of(content[:START_BYTES], source)
        hashes, places = array("q"), array("q")
        for word, place in _places(content, source, self.layout):
            hashes.append(hash(word))
            places.append(place)
        # Stable, because the first of several rows of a word counts.
        self._order = np.argsort(np.array(hashes, np.int64), kind="stable")
        self._hashes = np.array(hashes, np.int64)[self._order]
        self._places = np.array(places, np.int64)

    def find(self, words: set[str]) -> tuple[int, list[tuple[str, Floats]]]:
        found = ((word, self._vector(word)) for word in sorted(words))
        return self.layout.width, [(word, vector) for word, vector in found if vector is not None]

    def _vector(self, word: str) -> Floats | None:
        key = word.encode("utf-8", "surrogatepass")
        low, high = (np.searchsorted(self._hashes, hash(key), side) for side in ("left", "right"))
        candidates = (self._read(word, key, row) for row in self._order[low:high].tolist())
        return next((vector for vector in candidates if vector is not None), None)

    def _read(self, word: str, key: bytes, row: int) -> Floats | None:
        """The vector in a row; None if it belongs to another word with the same hash."""
        place, width = int(self._places[row]), self.layout.width
        if self.layout.count is None:
            self.content.seek(place)
            number = 1 + self.layout.header + row
            found = text_rows([self.content.readline()], self.source, {word}, width, number)
            return next((vector for _, vector in found), None)
        if self.content[place - len(key) - 1 : place] != key + b" ":
            return None
        return np.frombuffer(self.content[place : place + 4 * width], dtype="<f4").astype(np.float32)


def _places(content: mmap.mmap, source: str, layout: VectorLayout) -> Iterator[tuple[bytes, int]]:
    """Every word, and the position of its line or its vector."""
    content.seek(0)
    if layout.header:
        content.readline()
    if layout.count is None:
        place = content.tell()
        while line := content.readline():
            yield line[: line.find(b" ")], place
            place += len(line)
        return
    for number in range(layout.count):
        word = binary_word(content, source, number)
        place = content.tell()
        if place + 4 * layout.width > len(content):
            raise cut_off_binary(source, number, layout.count)
        content.seek(4 * layout.width, os.SEEK_CUR)
        yield word, place


class _FastText:
    """An index of fastText's binary, whose words and rows are already numbered."""

    def __init__(self, content: mmap.mmap, source: str) -> None:
        try:
            self.head = read_head(content, source)
            count = self.head.rows * self.head.width
            rows = np.frombuffer(content, "<f4", count, content.tell())
        except (struct.error, EOFError, ValueError):
            raise cut_off(source) from None
        self.rows = rows.reshape(self.head.rows, self.head.width)

    def find(self, words: set[str]) -> tuple[int, list[tuple[str, Floats]]]:
        rows = ((word, self.head.rows_of(word)) for word in sorted(words))
        return self.head.width, [(word, mean_of(self.rows, numbers)) for word, numbers in rows if numbers]
