"""Which files of a folder are the options and the weights of one bilm-tf model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import FormatError
from polyseme.formats.bilm_tf import load_bilm_tf
from polyseme.formats.hdf5_file import SIGNATURE, open_hdf5
from polyseme.formats.json_file import Settings
from polyseme.formats.model import StoredModel

SUFFIXES = (".hdf5", ".h5")
PREFERRED = ("model.hdf5", "weights.hdf5")  # simple_elmo's rule, then SeqVec's name
VOCABULARIES = ("vocab.txt.gz", "vocab.txt")  # in simple_elmo's order


@dataclass(frozen=True, slots=True)
class FilePair:
    """The files of one model."""

    options: Path
    weights: Path
    vocabulary: Path | None
    embedding: Path | None = None


def has_pair(path: Path) -> bool:
    """Whether a folder or file looks like options.json and HDF5, complete and readable or not."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        return bool(_options_files(folder)) and bool(_weight_files(folder))
    return _is_hdf5_name(path) or (path.name.endswith("options.json") and bool(_weight_files(folder)))


def load_pair(path: Path) -> StoredModel:
    """Read the model in a folder, or the one that an options or weight file belongs to."""
    return load_files(find_pair(path))


def load_files(pair: FilePair) -> StoredModel:
    return load_bilm_tf(pair.options, pair.weights, pair.vocabulary, pair.embedding)


def find_pair(path: Path) -> FilePair:
    """The files that belong together; a choice that content and names leave open is refused."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        options, weights = _only_options(folder), _only_weights(folder)
    elif path.name.endswith(".json"):
        options, weights = path, _partner(path, "options.json", "weights.hdf5") or _only_weights(folder)
    else:
        weights, options = path, _partner(path, "weights.hdf5", "options.json") or _only_options(folder)
    vocabulary = next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)
    embedding = None if Settings.of(options).has("char_cnn") else _embedding(folder, weights)
    return FilePair(options, weights, vocabulary, embedding)


def _partner(path: Path, ending: str, other: str) -> Path | None:
    """AllenNLP's releases call a pair …_options.json and …_weights.hdf5."""
    partner = path.with_name(path.name.removesuffix(ending) + other)
    return partner if path.name.endswith(ending) and partner.is_file() else None


def _only_options(folder: Path) -> Path:
    found = _options_files(folder)
    if not found:
        raise FormatError("there is no options.json beside the weights, and without it they cannot be read")
    if len(found) > 1 and (folder / "options.json") not in found:
        raise FormatError(f"there are several options ({found[0].name}, {found[1].name}); give the file you mean")
    return folder / "options.json" if folder / "options.json" in found else found[0]


def _only_weights(folder: Path) -> Path:
    files = _weight_files(folder)
    for name in PREFERRED:
        if folder / name in files:
            return folder / name
    if len(files) == 1:
        return files[0]
    models = [path for path in files if _holds_model(path)]
    if len(models) != 1:
        names = ", ".join(path.name for path in (models or files)[:3]) or "none"
        raise FormatError(
            f"one HDF5 file with weights was expected, and {len(models)} were found ({names}); give its name"
        )
    return models[0]


def _embedding(folder: Path, weights: Path) -> Path | None:
    """The file with the table of a word-id model, where it is not among the weights."""
    with open_hdf5(weights) as file:
        if "embedding" in file.arrays:
            return None
    for path in _weight_files(folder):
        with open_hdf5(path) as file:
            if set(file.arrays) == {"embedding"}:
                return path
    return None


def _holds_model(path: Path) -> bool:
    with open_hdf5(path) as file:
        return any(name.lower().startswith("rnn") for name in file.arrays)


def _options_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith("options.json") and path.is_file())


def _weight_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _is_hdf5_name(path))


def _is_hdf5_name(path: Path) -> bool:
    if not path.is_file() or path.name.startswith("."):
        return False
    if path.suffix in SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(8) == SIGNATURE
