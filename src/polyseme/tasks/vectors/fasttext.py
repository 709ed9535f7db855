"""fastText's binary format (.bin): a word's vector is the mean of its own row and the rows of its character n-grams.

So every word has a vector, even one that the file does not list. The format is that of fastText 0.9 (version 12):

    magic, version, 12 settings, t      words: text, count, kind      rows [words + buckets, size] as float32
"""

from __future__ import annotations

import io
import mmap
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError

Floats = npt.NDArray[np.float32]

FASTTEXT_MAGIC = struct.pack("<i", 793_712_314)
VERSION = 12
BLOCK_ROWS = 65_536


def read_fasttext(stream: io.BufferedReader, source: str, wanted: set[str]) -> tuple[int, list[tuple[str, Floats]]]:
    """The size of the vectors, and those of the wanted words."""
    try:
        head = read_head(stream, source)
        pieces = {word: head.rows_of(word) for word in wanted}
        needed = np.array(sorted({row for rows in pieces.values() for row in rows}), dtype=np.int64)
        matrix = _read_rows(stream, needed, head)
    except (struct.error, EOFError):
        raise cut_off(source) from None
    place = {row: number for number, row in enumerate(needed.tolist())}
    return head.width, [
        (word, mean_of(matrix, [place[row] for row in rows])) for word, rows in sorted(pieces.items()) if rows
    ]


def mean_of(matrix: Floats, rows: list[int]) -> Floats:
    mean: Floats = matrix[rows].mean(axis=0, dtype=np.float32)
    return mean


def cut_off(source: str) -> InputError:
    return InputError(f"{source} was cut off: it ends before its vectors do; copy or download it again")


@dataclass(frozen=True, slots=True)
class Head:
    """Everything before the rows."""

    width: int
    bucket: int
    shortest: int  # shortest n-gram, and the longest
    longest: int
    known: dict[bytes, int]  # the row of each word
    words: int
    rows: int

    def rows_of(self, word: str) -> list[int]:
        """A word's own row, and those of its n-grams."""
        return _rows_of(word, self.known, self.words, self.bucket, self.shortest, self.longest)


def read_head(stream: io.BufferedReader | mmap.mmap, source: str) -> Head:
    """Read up to the rows; struct.error or EOFError if the file ends earlier."""
    width, bucket, shortest, longest = _read_settings(stream, source)
    known, words = _read_words(stream, source)
    rows, found = _unpack(stream, "<qq")
    if found != width:
        raise InputError(f"{source} promises vectors of {width} numbers but has {found}; it is damaged")
    return Head(width, bucket, shortest, longest, known, words, rows)


def _unpack(stream: io.BufferedReader | mmap.mmap, form: str) -> tuple[Any, ...]:
    return struct.unpack(form, stream.read(struct.calcsize(form)))


def _read_settings(stream: io.BufferedReader | mmap.mmap, source: str) -> tuple[int, int, int, int]:
    _, version = _unpack(stream, "<ii")
    if version != VERSION:
        raise InputError(f"{source} is of fastText's version {version}, but only {VERSION} is read; use its .vec file")
    dim, _, _, _, _, _, _, _, bucket, shortest, longest, _, _ = _unpack(stream, "<12id")
    return dim, bucket, shortest, longest


def _read_words(stream: io.BufferedReader | mmap.mmap, source: str) -> tuple[dict[bytes, int], int]:
    """Each word's row, and the number of words."""
    size, words, labels, _, pruned = _unpack(stream, "<iiiqq")
    if labels or pruned > 0:
        raise InputError(f"{source} is a classifier or a pruned model, not a model of word vectors; use a .vec file")
    known: dict[bytes, int] = {}
    for number in range(size):
        known[_read_word(stream)] = number
        stream.read(9)  # its count and kind
    (quantized,) = _unpack(stream, "<?")
    if quantized:
        raise InputError(f"{source} is quantised (.ftz), which is not read; use the .bin or .vec it was made from")
    return known, words


def _read_word(stream: io.BufferedReader | mmap.mmap) -> bytes:
    word = bytearray()
    while (byte := stream.read(1)) != b"\0":
        if not byte:
            raise EOFError
        word += byte
    return bytes(word)


def _rows_of(word: str, known: dict[bytes, int], count: int, bucket: int, shortest: int, longest: int) -> list[int]:
    own = known.get(word.encode("utf-8", "surrogatepass"))
    rows = [] if own is None else [own]
    if bucket and longest:
        marked = f"<{word}>"
        for start in range(len(marked)):
            for end in range(start + max(1, shortest), min(start + longest, len(marked)) + 1):
                piece = marked[start:end]
                if len(piece) == 1 and (start == 0 or end == len(marked)):
                    continue  # a boundary alone is not an n-gram
                rows.append(count + _hash(piece.encode("utf-8", "surrogatepass")) % bucket)
    return rows


def _hash(data: bytes) -> int:
    """FNV-1a over signed bytes, as fastText computes it."""
    h = 2_166_136_261
    for byte in data:
        h ^= byte if byte < 128 else byte | 0xFFFF_FF00
        h = h * 16_777_619 & 0xFFFF_FFFF
    return h


def _read_rows(stream: io.BufferedReader, needed: npt.NDArray[np.int64], head: Head) -> Floats:
    """The needed rows, in order; the rest of the file is skipped block by block."""
    width = head.width
    out = np.zeros((len(needed), width), dtype=np.float32)
    for first in range(0, head.rows, BLOCK_ROWS):
        rows = min(BLOCK_ROWS, head.rows - first)
        data = stream.read(4 * rows * width)
        if len(data) < 4 * rows * width:
            raise EOFError
        low, high = np.searchsorted(needed, [first, first + rows])
        out[low:high] = np.frombuffer(data, dtype="<f4").reshape(rows, width)[needed[low:high] - first]
    return out
