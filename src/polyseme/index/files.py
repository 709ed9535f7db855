"""An index on disk: sentences, the places of every word, and the vectors of some layers, in memory-mapped files.

    index.json        what it was made from: inputs with their digests, model, layers
    contents.json     how much has been written: the size and the checksum of each file
    sentences.jsonl   a line for each sentence: its text, its tokens, where it comes from
    lines.bin         u8 [sentences + 1]  where each line begins
    starts.bin        u8 [sentences + 1]  the first token of each sentence
    words.txt         every distinct token, one per line, in order of first occurrence
    tokens.bin        u4 [tokens]         the word of each token: its line in words.txt
    layer-2.f2        f2 [tokens, W]      each token's vector, scaled to length one
    layer-2.norms     f4 [tokens]         the original length of the vector
    postings.bin      u8 [tokens]         the tokens of each word, word by word
    posted.bin        u8 [words + 1]      where each word begins in postings.bin

All numbers are little endian. `polyseme.index.builder` writes it; a folder without ``.partial`` in its name is
complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyseme.embed.description import Passage
from polyseme.encoding import unit
from polyseme.errors import InputError
from polyseme.jobs.manifests import InputFile, Piece, check_pieces, map_file, read_manifest

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

VERSION = 1
DESCRIPTION, CONTENTS = "index.json", "contents.json"
SENTENCES, LINES, STARTS, WORDS, TOKENS = "sentences.jsonl", "lines.bin", "starts.bin", "words.txt", "tokens.bin"
POSTINGS, POSTED = "postings.bin", "posted.bin"
U4, U8, F2, F4 = np.dtype("<u4"), np.dtype("<u8"), np.dtype("<f2"), np.dtype("<f4")

_POSTING_BLOCK = 1 << 20  # tokens sorted at once


@dataclass(frozen=True, slots=True)
class IndexDescription:
    """What an index is made from: equal descriptions give equal files."""

    fingerprint: str  #: fingerprint of the model
    model: str | None  #: where to find the model again: "en", a folder, a hub id
    lang: str
    state: str
    layers: tuple[int, ...]
    width: int
    inputs: tuple[InputFile, ...]
    kind: str | None
    field: str | None
    characters: int  #: number of characters of all inputs
    options: str | None = None  #: the options file of HDF5 weights, if it is not beside them
    version: int = VERSION

    @classmethod
    def of(
        cls,
        elmo: Elmo,
        layers: tuple[int, ...],
        *,
        characters: int,
        inputs: Iterable[InputFile] = (),
        model: str | None = None,
        options: str | None = None,
        kind: str | None = None,
        field: str | None = None,
    ) -> IndexDescription:
        return cls(
            fingerprint=elmo.fingerprint,
            model=model,
            lang=elmo.lang,
            state=elmo.state,
            layers=layers,
            width=elmo.config.width,
            inputs=tuple(inputs),
            kind=kind,
            field=field,
            characters=characters,
            options=options,
        )

    @classmethod
    def read(cls, folder: Path) -> IndexDescription:
        """Read the description; InputError says what is wrong with the file."""
        return read_manifest(folder / DESCRIPTION, cls, VERSION)


@dataclass(frozen=True, slots=True)
class IndexContents:
    """How much of an index has been written; anything beyond these sizes is ignored."""

    sentences: int
    tokens: int
    words: int
    next: tuple[int, int]  #: the next document and sentence
    pieces: Mapping[str, Piece]  #: by file name
    version: int = VERSION

    @classmethod
    def read(cls, folder: Path, layers: Iterable[int] = ()) -> IndexContents:
        """Read the contents; InputError if they are damaged, or lack a file that every index or these layers need."""
        contents = read_manifest(folder / CONTENTS, cls, VERSION)
        for name in growing_files(layers):
            if name not in contents.pieces:
                raise InputError(f"{CONTENTS} does not know {name}")
        return contents


@dataclass(frozen=True, eq=False)
class Arrays:
    """The files of an index as arrays, mapped from disk or in memory."""

    lines: NDArray[np.uint8]  # sentences.jsonl
    line_starts: NDArray[np.uint64]  # [sentences + 1]
    starts: NDArray[np.uint64]  # [sentences + 1]
    words: list[str]
    postings: NDArray[np.uint64]  # [tokens]
    posted: NDArray[np.uint64]  # [words + 1]
    units: Mapping[int, NDArray[np.float16]]  # by layer: [tokens, W]
    norms: Mapping[int, NDArray[np.float32]]  # by layer: [tokens]


class Growth:
    """Turns encoded sentences into bytes to append to the growing files; keeps track of the words seen."""

    def __init__(self, layers: tuple[int, ...], words: Iterable[str] = (), *, tokens: int = 0, line_bytes: int = 0):
        self.layers = layers
        self.numbers = {word: number for number, word in enumerate(words)}
        self.tokens, self.line_bytes = tokens, line_bytes

    @staticmethod
    def beginnings() -> dict[str, bytes]:
        """The contents of the files before the first sentence: each array of offsets begins with 0."""
        return {LINES: U8.type(0).tobytes(), STARTS: U8.type(0).tobytes()}

    def add(self, passage: Passage, layers: NDArray[np.float32]) -> dict[str, bytes]:
        """A sentence with its layers [L+1, N, W] → the bytes to append to each file."""
        new = [token for token in dict.fromkeys(passage.tokens) if token not in self.numbers]
        self.numbers.update(zip(new, range(len(self.numbers), len(self.numbers) + len(new)), strict=True))
        types = [self.numbers[token] for token in passage.tokens]
        line = _line(passage)
        self.tokens += len(types)
        self.line_bytes += len(line)
        added = {
            SENTENCES: line,
            LINES: np.array(self.line_bytes, U8).tobytes(),
            STARTS: np.array(self.tokens, U8).tobytes(),
            WORDS: "".join(f"{word}\n" for word in new).encode("utf-8", "surrogatepass"),
            TOKENS: np.array(types, U4).tobytes(),
        }
        for layer in self.layers:
            added[units_file(layer)] = unit(layers[layer]).astype(F2).tobytes()
            added[norms_file(layer)] = np.linalg.norm(layers[layer], axis=1).astype(F4).tobytes()
        return added


def units_file(layer: int) -> str:
    return f"layer-{layer}.f2"


def norms_file(layer: int) -> str:
    return f"layer-{layer}.norms"


def growing_files(layers: Iterable[int]) -> list[str]:
    """The files that grow with each sentence."""
    vectors = [name for layer in layers for name in (units_file(layer), norms_file(layer))]
    return [SENTENCES, LINES, STARTS, WORDS, TOKENS, *vectors]


def post(tokens: NDArray[np.uint32], words: int, postings: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Fill ``postings`` [N] with the tokens of each word, in order; returns where each word begins. [words + 1]

    Tokens are sorted in blocks, so ``tokens`` and ``postings`` may be larger than memory.
    """
    blocks = range(0, len(tokens), _POSTING_BLOCK)
    counts = np.zeros(words, np.int64)
    for start in blocks:
        counts += np.bincount(tokens[start : start + _POSTING_BLOCK], minlength=words)
    posted = np.concatenate([[0], np.cumsum(counts)])
    free = posted[:-1].copy()  # where the next token of each word goes
    for start in blocks:
        block = np.asarray(tokens[start : start + _POSTING_BLOCK])
        order = np.argsort(block, kind="stable")
        sorted_words = block[order]
        first = np.searchsorted(sorted_words, sorted_words)  # start of the run of the same word
        postings[free[sorted_words] + np.arange(len(block)) - first] = start + order
        free += np.bincount(block, minlength=words)
    return posted.astype(U8)


def arrays_in_memory(files: Mapping[str, bytes], layers: tuple[int, ...], width: int, words: list[str]) -> Arrays:
    """The arrays of an index in memory, from the bytes that its growing files would have."""
    tokens = np.frombuffer(files[TOKENS], U4)
    postings = np.empty(len(tokens), U8)
    return Arrays(
        lines=np.frombuffer(files[SENTENCES], np.uint8),
        line_starts=np.frombuffer(files[LINES], U8),
        starts=np.frombuffer(files[STARTS], U8),
        words=words,
        posted=post(tokens, len(words), postings),
        postings=postings,
        units={layer: np.frombuffer(files[units_file(layer)], F2).reshape(-1, width) for layer in layers},
        norms={layer: np.frombuffer(files[norms_file(layer)], F4) for layer in layers},
    )


def open_arrays(folder: Path, description: IndexDescription, contents: IndexContents) -> Arrays:
    """The arrays of a folder; InputError names a file that is missing or damaged."""
    check_pieces(folder, contents.pieces)
    tokens, sentences = contents.tokens, contents.sentences
    return Arrays(
        lines=map_file(folder / SENTENCES, np.dtype("u1"), contents.pieces[SENTENCES].size),
        line_starts=map_file(folder / LINES, U8, sentences + 1),
        starts=map_file(folder / STARTS, U8, sentences + 1),
        words=read_words(folder, contents),
        postings=map_file(folder / POSTINGS, U8, tokens),
        posted=map_file(folder / POSTED, U8, contents.words + 1),
        units={
            layer: map_file(folder / units_file(layer), F2, tokens * description.width).reshape(-1, description.width)
            for layer in description.layers
        },
        norms={layer: map_file(folder / norms_file(layer), F4, tokens) for layer in description.layers},
    )


def read_words(folder: Path, contents: IndexContents) -> list[str]:
    """The lines of words.txt."""
    words = (folder / WORDS).read_bytes().decode("utf-8", "surrogatepass").split("\n")[:-1]
    if len(words) != contents.words:
        raise InputError(f"{WORDS} has {len(words)} words where {contents.words} were expected")
    return words


def _line(passage: Passage) -> bytes:
    begin, end = passage.bounds
    told = {
        "text": passage.whole[begin:end],
        "tokens": passage.tokens,
        "offsets": (passage.offsets - begin).ravel().tolist(),
        "source": passage.document.source,
        "document": passage.document.id,
        "sentence": passage.sentence,
    }
    return (json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "surrogatepass")
