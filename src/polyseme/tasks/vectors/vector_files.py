"""Word vectors in files, read in one pass: GloVe's text, word2vec's text and binary, and both of fastText's formats.

the 0.418 0.24968 -0.41242       a word and its numbers, in some files after a first line "count size"
the \x1b\x2f…                    the same in binary, always after such a line
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError
from polyseme.tasks.vectors.fasttext import FASTTEXT_MAGIC, read_fasttext
from polyseme.text.lines import open_bytes

Floats = npt.NDArray[np.float32]
Found = Iterable[tuple[str, Floats]]

START_BYTES = 1 << 16  # of a file, from which its format is detected
LONGEST_WORD = 4096  # bytes; anything longer in a binary file is not a word
LARGEST = 100_000  # numbers in a vector; a header that promises more is not a header of vectors


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The layout of a file after its header; ``count`` is None if each line is a word and its numbers."""

    width: int
    header: int  # lines
    count: int | None


def read_vectors(source: str, wanted: set[str]) -> tuple[int, Found]:
    """The size of a file's vectors, and those of the wanted words."""
    with open_bytes(source) as stream:
        start = stream.peek(START_BYTES)
        if start.startswith(FASTTEXT_MAGIC):
            return read_fasttext(stream, source, wanted)
        layout = layout_of(start, source)
        if layout.header:
            stream.readline()
        if layout.count is None:
            return layout.width, list(text_rows(stream, source, wanted, layout.width, 1 + layout.header))
        return layout.width, list(_binary_rows(stream, source, wanted, layout.count, layout.width))


def layout_of(start: bytes, source: str) -> VectorLayout:
    """The layout, detected from the content: a header "count size", or a first line of a word and numbers."""
    first, newline, rest = start.partition(b"\n")
    header = first.split()
    if newline and len(header) == 2 and all(part.isdigit() and len(part) < 20 for part in header):
        count, width = map(int, header)
        _check_width(width, source)
        return VectorLayout(width, 1, None if _is_text(rest, width) else count)
    width = len(first.rstrip().split(b" ")) - 1
    _check_width(width, source)
    if not newline or not _is_text(start, width):
        raise InputError(
            f"{source} holds no word vectors: expected lines of a word and numbers (GloVe, fastText .vec), "
            "word2vec's binary or fastText's .bin"
        )
    return VectorLayout(width, 0, None)


def _check_width(width: int, source: str) -> None:
    if not 1 <= width <= LARGEST:
        raise InputError(f"{source} holds no word vectors: its first line promises {width} numbers per word")


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


def text_rows(
    lines: Iterable[bytes], source: str, wanted: set[str], width: int, first: int
) -> Iterator[tuple[str, Floats]]:
    """Parse the lines of wanted words; a word with a blank in it (GloVe 840B has some) is left out."""
    keys = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    for number, raw in enumerate(lines, start=first):
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
        word = binary_word(stream, source, number)
        data = stream.read(4 * width)
        if len(data) < 4 * width:
            raise cut_off(source, number, count)
        if word in keys:
            yield keys[word], np.frombuffer(data, dtype="<f4").astype(np.float32)


def cut_off(source: str, number: int, count: int) -> InputError:
    return InputError(f"{source} ends after {number} of {count} words: it is truncated; copy or download it again")


def binary_word(stream: io.BufferedReader | mmap.mmap, source: str, number: int) -> bytes:
    word = bytearray()
    while (byte := stream.read(1)) != b" ":
        if not byte or len(word) > LONGEST_WORD:
            raise InputError(f"{source} is not a word2vec file: word number {number + 1} is missing")
        word += byte
    return bytes(word).lstrip(b"\n")
