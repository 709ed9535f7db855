"""Files that people mistake for ELMo models: they are recognised, and refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import FormatError
from polyseme.formats.hdf5_file import open_hdf5
from polyseme.formats.json_file import read_json


@dataclass(frozen=True, slots=True)
class Foreign:
    """A kind of file that is not an ELMo model."""

    title: str
    test: Callable[[Path], bool]


def refuse_foreign(path: Path) -> None:
    """Raise an error that says what ``path`` is, if it is known not to be an ELMo model."""
    for foreign in FOREIGN:
        if foreign.test(path):
            raise FormatError(f"this is {foreign.title}, not an ELMo model, so polyseme cannot use it")


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda path: path.is_dir() and all((path / name).exists() for name in names)


def _begins(*starts: bytes) -> Callable[[Path], bool]:
    def test(path: Path) -> bool:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(64).startswith(starts)

    return test


def _config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    if not (path.is_dir() and file.is_file()):
        return {}
    try:
        return read_json(file)
    except FormatError:
        return {}


def _is_transformers(path: Path) -> bool:
    config = _config(path)
    return ("model_type" in config or "architectures" in config) and "format" not in config


def _is_flair(path: Path) -> bool:
    """Flair pickles its own classes, so the pickle contains their module's name."""
    if not path.is_file() or path.stat().st_size < 64:
        return False
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return start[:2] in (b"PK", b"\x80\x02") and b"flair." in start


def _is_vectors(path: Path) -> bool:
    """Programs that write vectors to HDF5 number the sentences, or list them."""
    if not path.is_file() or path.suffix not in (".hdf5", ".h5"):
        return False
    try:
        with open_hdf5(path) as file:
            return "0" in file.arrays or "sentence_to_index" in file.arrays
    except FormatError:
        return False


def _is_word_vectors(path: Path) -> bool:
    """Text vectors: a first line of two numbers, or of a word and many numbers."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        fields = file.read(1 << 16).split(b"\n", 1)[0].split()
    try:
        numbers = [float(field) for field in fields[1:]]
    except ValueError:
        return False
    return len(numbers) >= 10 or (len(fields) == 2 and all(field.isdigit() for field in fields))


FOREIGN = (
    Foreign("a sentence-transformers model", _has("modules.json", "config.json")),
    Foreign("a transformers model", _is_transformers),
    Foreign("a spaCy pipeline", _has("config.cfg", "meta.json")),
    Foreign("a Flair model", _is_flair),
    Foreign("a fastText model", _begins(b"\xba\x16\x4f\x2f")),
    Foreign("a GGUF model", _begins(b"GGUF")),
    Foreign("a NumPy array file", _begins(b"\x93NUMPY")),
    Foreign("a file of vectors that were already computed", _is_vectors),
    Foreign("a file of word vectors (word2vec, GloVe or fastText)", _is_word_vectors),
)
